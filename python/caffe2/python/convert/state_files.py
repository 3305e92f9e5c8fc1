"""Parameters alone: safetensors files and PyTorch's state dicts, which contain no net.

The metadata of a safetensors file that is written here holds Model.info and the padding of a
ResNet's max pooling, under keys that start with "doppio.".
"""

from __future__ import annotations

import pickle
import zipfile
from collections.abc import Mapping

import numpy as np

from caffe2.python.convert import resnet
from caffe2.python.convert.errors import CANNOT_WRITE, ConvertError, needs, one_line
from caffe2.python.convert.files import check_readable, whole_file
from caffe2.python.convert.model import Model, float_values, with_values

_INFO = "doppio."
_POOL_PADDING = "doppio.maxpool_padding"


def read_safetensors(path: str) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """({name: array}, metadata) of a file; raises ConvertError."""
    check_readable(path)
    try:
        from safetensors import SafetensorError, safe_open
        from safetensors.numpy import load_file
    except ImportError as error:
        raise needs("safetensors", "safetensors files", error) from error
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
        return load_file(path), metadata
    except (SafetensorError, OSError) as error:
        raise ConvertError(
            f"{path} is not a safetensors file, or is damaged: {one_line(error)}"
        ) from error
    except (AttributeError, KeyError, TypeError) as error:
        raise ConvertError(
            f"{path} has tensors of a type that numpy does not have "
            f"({one_line(error)}): store them as float32"
        ) from error


def _import_torch():
    try:
        import torch
    except ImportError as error:
        raise needs("torch", "PyTorch's files", error) from error
    return torch


def read_torch(path: str) -> dict[str, np.ndarray]:
    """{name: array} of a state dict, which may be part of a checkpoint ("state_dict" or "model") or
    have the names of DataParallel. Executes no code in the file. Raises ConvertError."""
    check_readable(path)
    torch = _import_torch()
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ConvertError(
            f"{path} is damaged or has more than tensors: save the state dict alone, by "
            "torch.save(model.state_dict(), path)"
        ) from error
    except (RuntimeError, EOFError, ValueError, zipfile.BadZipFile) as error:
        raise ConvertError(
            f"{path} is not a file of PyTorch, or is damaged: {one_line(error)}"
        ) from error
    for key in ("state_dict", "model"):
        if isinstance(content, dict) and isinstance(content.get(key), dict):
            content = content[key]
    if (
        not isinstance(content, dict)
        or not content
        or not all(isinstance(value, torch.Tensor) for value in content.values())
    ):
        raise ConvertError(
            f"{path} has no state dict: save it by " "torch.save(model.state_dict(), path)"
        )
    return {
        name.removeprefix("module."): (
            value.float() if value.is_floating_point() else value
        ).detach().numpy()
        for name, value in content.items()
    }


def write_safetensors(
    state: Mapping[str, np.ndarray], path: str, metadata: Mapping[str, str]
) -> None:
    """Writes {name: array} and metadata; raises ConvertError."""
    try:
        from safetensors import SafetensorError
        from safetensors.numpy import save_file
    except ImportError as error:
        raise needs("safetensors", "safetensors files", error) from error
    with whole_file(path) as temporary:
        try:
            save_file(
                {name: np.ascontiguousarray(value) for name, value in state.items()},
                temporary,
                metadata={"format": "pt", **metadata},
            )
        except SafetensorError as error:
            raise ConvertError(f"cannot write {path}: {one_line(error)}", CANNOT_WRITE) from error


def write_torch(state: Mapping[str, np.ndarray], path: str) -> None:
    """Writes {name: array} as torch.save does; raises ConvertError."""
    torch = _import_torch()
    with whole_file(path) as temporary:
        tensors = {name: torch.from_numpy(np.array(value)) for name, value in state.items()}
        try:
            torch.save(tensors, temporary)
        except RuntimeError as error:
            raise ConvertError(f"cannot write {path}: {one_line(error)}", CANNOT_WRITE) from error


def metadata_of(model: Model) -> dict[str, str]:
    """The metadata of a model for a safetensors file."""
    metadata = {_INFO + key: value for key, value in model.info.items()}
    padding = resnet.pool_padding(model) if resnet.is_resnet(model) else None
    return metadata if padding is None else {**metadata, _POOL_PADDING: str(padding)}


def _number(metadata, key, largest):
    """A number from 0 to `largest`; None if it is not there. Raises ConvertError."""
    text = metadata.get(key)
    if text is None or (text.isdecimal() and len(text) < 10 and int(text) <= largest):
        return None if text is None else int(text)
    raise ConvertError(f"the metadata {key} is {text!r}, which is no number from 0 to {largest}")


def apply_metadata(model: Model, metadata: Mapping[str, str], with_net: bool) -> None:
    """Applies the metadata of metadata_of to a model of model_of_state.

    Args:
      with_net: the net is given (--like); its pooling and storage order stay.

    Adds a note if a ResNet's file has no such metadata. Raises ConvertError for invalid values.
    """
    info = {
        key[len(_INFO) :]: value
        for key, value in metadata.items()
        if key.startswith(_INFO) and key != _POOL_PADDING
    }
    info.pop("order", None)  # the net has its own
    padding = _number(metadata, _POOL_PADDING, 1)
    if not with_net:
        if padding is not None:
            resnet.set_pool_padding(model, padding)
        if not any(key.startswith(_INFO) for key in metadata):
            model.notes.append(
                "the file does not say how the model pools or takes images: it becomes "
                "torchvision's net, with padded max pooling, for images of 224 x 224 pixels "
                "(--input_shape, --mean and --std, or --like MODEL, say it)"
            )
    size = _number(metadata, _INFO + "image_size", 1 << 16)
    shape = model.shapes.get(model.inputs[0], [])
    if size and len(shape) == 4:
        last = model.info.get("order") == "NHWC"
        model.shapes[model.inputs[0]] = (
            [shape[0], size, size, shape[3]] if last else [*shape[:2], size, size]
        )
    model.info = {**model.info, **info}


def model_of_state(state: Mapping[str, np.ndarray], like: Model | None) -> Model:
    """The model of parameters.

    Args:
      state: by torchvision's names of a ResNet, or by the names of blobs.
      like: a model with the same parameters, whose net the result has; None for torchvision's
        ResNets, which need none.

    Raises ConvertError.
    """
    if like is None:
        return resnet.model_of_state(state)
    if resnet.is_state(state):
        return resnet.model_like(state, like)
    return with_values(like, state)


def state_of_model(model: Model, names: str | None) -> dict[str, np.ndarray]:
    """The parameters of a model.

    Args:
      names: "torchvision", which only ResNets have, or "caffe2"; default: the first that fits.

    Raises ConvertError.
    """
    values = float_values(model, "a file of parameters")
    if names == "torchvision" or (names is None and resnet.is_resnet(model)):
        return resnet.state_of_model(model)
    return values
