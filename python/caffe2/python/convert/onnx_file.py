"""ONNX models."""

from __future__ import annotations

from google.protobuf.message import DecodeError

from caffe2.python.convert.errors import ConvertError, needs, one_line
from caffe2.python.convert.files import read_bytes, whole_file
from caffe2.python.convert.model import (
    Model,
    float_values,
    infer_shapes,
    model_of_nets,
    need_shapes,
    try_to_run,
)

_INFO = "doppio."  # prefix of the keys of Model.info among ONNX's metadata


def _import_onnx():
    """Imports ONNX at its first use: other formats are converted without its package."""
    try:
        import onnx

        from caffe2.python.onnx import backend, error, frontend
    except ImportError as missing:
        raise needs("onnx", "ONNX models", missing) from missing
    return onnx, backend, frontend, error.Unsupported


def read(path: str) -> Model:
    """The model of a file; raises ConvertError."""
    content = read_bytes(path)
    onnx, backend, _, unsupported = _import_onnx()
    try:
        proto = onnx.load_model_from_string(content)
        onnx.checker.check_model(proto)
        init, predict = backend.onnx_graph_to_caffe2_net(proto)
    except unsupported as error:
        raise ConvertError(f"{path}: {one_line(error)}") from error
    except (DecodeError, onnx.checker.ValidationError, RuntimeError, TypeError) as error:
        raise ConvertError(
            f"{path} is not an ONNX model, or is damaged: {one_line(error)}"
        ) from error
    model = model_of_nets(init, predict, path, path)
    for value in proto.graph.input:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if value.name in model.inputs and dims and all(dims[1:]):
            model.shapes[value.name] = dims  # 0: any number
    model.info = {
        entry.key[len(_INFO) :]: entry.value
        for entry in proto.metadata_props
        if entry.key.startswith(_INFO)
    }
    return model


def _hint(model, batch):
    """What helps if the net takes batches of its own size and no others."""
    own = max(model.shapes[model.inputs[0]][0], 1)
    if batch is not None:
        return ""
    try:
        infer_shapes(model, own)
    except ConvertError:
        return ""
    return f"; the net takes batches of {own}: give --batch_size {own}"


def write(model: Model, path: str, batch: int | None = None) -> None:
    """Writes a model for batches of `batch`, or of any size. Raises ConvertError."""
    onnx, _, frontend, unsupported = _import_onnx()
    need_shapes(model)
    values = float_values(model, path)
    inputs = {
        name: (onnx.TensorProto.FLOAT, [batch or "N", *model.shapes[name][1:]])
        for name in model.inputs
    }
    try:
        proto = frontend.caffe2_net_to_onnx_model(model.net, values, inputs)
    except unsupported as error:
        raise ConvertError(one_line(error)) from error
    except (RuntimeError, ValueError, onnx.checker.ValidationError) as error:
        raise ConvertError(
            f"the model cannot be written as ONNX: {one_line(error)}{_hint(model, batch)}"
        ) from error
    try_to_run(model)
    onnx.helper.set_model_props(proto, {_INFO + key: value for key, value in model.info.items()})
    with whole_file(path) as temporary, open(temporary, "wb") as file:
        file.write(proto.SerializeToString())
