"""The file formats of models, chosen by the endings of file names."""

from __future__ import annotations

import os

from caffe2.python.convert import net_pair, onnx_file, predictor_file, state_files
from caffe2.python.convert.errors import CANNOT_WRITE, USAGE, ConvertError
from caffe2.python.convert.model import Model

KNOWN = ("model.mdl or .minidb (an exported predictor), model.onnx, model.safetensors, model.pth "
         "or .pt (a state dict of PyTorch), init_net.pb,predict_net.pb, or a folder with these two")

_ENDS = {".mdl": "predictor", ".minidb": "predictor", ".onnx": "onnx",
         ".safetensors": "safetensors", ".pth": "torch", ".pt": "torch", ".pb": "net",
         ".pbtxt": "net", "": "pair"}


def format_of(path: str) -> str:
    """"predictor", "onnx", "safetensors", "torch", "pair", or "net" for one net alone. Raises
    ConvertError for others."""
    if "," in path or os.path.isdir(path) or path.endswith("/"):
        return "pair"
    end = os.path.splitext(path)[1].lower()
    if end not in _ENDS or (not end and os.path.isfile(path)):
        ending = f"that end in {end}" if end else "without an ending"
        raise ConvertError(f"{path}: the format of files {ending} is not known; name {KNOWN}",
                           USAGE)
    return _ENDS[end]


def check_target(path: str) -> str:
    """format_of(path) of a model to write. Raises ConvertError if a folder has the name of a
    file, or one of two nets another ending than nets."""
    kind = format_of(path)
    end = os.path.splitext(path.rstrip("/"))[1].lower()
    if kind == "pair" and "," not in path and _ENDS.get(end, "pair") != "pair":
        raise ConvertError(f"{path} is a folder: name a file, or for two nets a folder whose name "
                           f"does not end in {end}", CANNOT_WRITE)
    if "," in path:
        net_pair.check_endings(path)
    return kind


def written(path: str) -> str:
    """The files that write() makes for a path, for people."""
    return " and ".join(net_pair.paths_of(path)) if format_of(path) == "pair" else path


def _read_state(path, kind, like):
    if kind == "torch":
        state, metadata = state_files.read_torch(path), {}
    else:
        state, metadata = state_files.read_safetensors(path)
    model = state_files.model_of_state(state, like)
    try:
        state_files.apply_metadata(model, metadata, with_net=like is not None)
    except ConvertError as error:
        raise ConvertError(f"{path}: {error}") from error
    return model


def read(path: str, like: Model | None = None) -> Model:
    """The model of a file; for `like` see state_files.model_of_state. Raises ConvertError."""
    kind = format_of(path)
    if kind in ("torch", "safetensors"):
        return _read_state(path, kind, like)
    if like is not None:
        raise ConvertError(f"--like is only for parameters without a net, and {path} has one",
                           USAGE)
    if kind == "predictor":
        return predictor_file.read(path)
    if kind == "onnx":
        return onnx_file.read(path)
    if kind == "net":
        return net_pair.read_predict_net(path)
    return net_pair.read(path)


def write(model: Model, path: str, names: str | None = None, batch: int | None = None) -> None:
    """Writes a model. For `names` see state_files.state_of_model, for `batch` see onnx_file.write.
    Raises ConvertError."""
    kind = format_of(path)
    if kind == "predictor":
        predictor_file.write(model, path)
    elif kind == "onnx":
        onnx_file.write(model, path, batch)
    elif kind == "torch":
        state_files.write_torch(state_files.state_of_model(model, names), path)
    elif kind == "safetensors":
        state = state_files.state_of_model(model, names)
        state_files.write_safetensors(state, path, state_files.metadata_of(model))
    elif kind == "net":
        raise ConvertError(f"{path} would be one net: name two as init_net.pb,predict_net.pb, or a "
                           "folder", USAGE)
    else:
        net_pair.write(model, path)
