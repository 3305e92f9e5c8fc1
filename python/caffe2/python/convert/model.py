"""The representation of a model that all formats are read to and written from."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Union

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import workspace
from caffe2.python._core.feeding import Int8Tensor
from caffe2.python.convert.errors import ConvertError, one_line
from caffe2.python.predictor_class import restricted

Value = Union[np.ndarray, Int8Tensor]


@dataclasses.dataclass
class Model:
    """A net that predicts, and its parameters.

    values: {parameter: array, or Int8Tensor if it is quantized}.
    shapes: {input: shape}, of the inputs whose shape is known. The first dimension is the batch.
    info: text for users of the model by key, such as the mean of its pixels.
    notes: what a user of the written file must know, one line each.
    """

    net: caffe2_pb2.NetDef
    values: dict[str, Value]
    inputs: list[str]
    outputs: list[str]
    shapes: dict[str, list[int]] = dataclasses.field(default_factory=dict)
    info: dict[str, str] = dataclasses.field(default_factory=dict)
    notes: list[str] = dataclasses.field(default_factory=list)


def value_of(fetched: Any) -> Value:
    """A value that a workspace has fetched, as the value of a parameter."""
    return Int8Tensor(*fetched) if isinstance(fetched, tuple) else np.asarray(fetched)


def array_of(value: Value) -> np.ndarray:
    """The numbers of a parameter; for a quantized one the 8-bit integers."""
    return value.data if isinstance(value, Int8Tensor) else value


def float_values(model: Model, what: str) -> dict[str, np.ndarray]:
    """The parameters. Raises ConvertError, which names `what`, for a quantized model."""
    for name, value in model.values.items():
        if isinstance(value, Int8Tensor):
            raise ConvertError(
                f"{what} cannot hold a quantized model: its parameter {name} is "
                "quantized; name a .mdl, or a folder or two files for its nets"
            )
    return {name: array_of(value) for name, value in model.values.items()}


def argument(op: caffe2_pb2.OperatorDef, name: str) -> caffe2_pb2.Argument | None:
    """An argument of an operator, or None."""
    return next((arg for arg in op.arg if arg.name == name), None)


def order_of(op: caffe2_pb2.OperatorDef) -> str:
    """ "NCHW" or "NHWC"."""
    order = argument(op, "order")
    return order.s.decode() if order is not None and order.s else "NCHW"


def _read_first(net):
    """The blobs that a net reads before it writes them."""
    written: set[str] = set()
    read: dict[str, None] = {}
    for op in net.op:
        read.update(dict.fromkeys(name for name in op.input if name not in written))
        written.update(op.output)
    return list(read)


def model_of_nets(
    init: caffe2_pb2.NetDef | None, predict: caffe2_pb2.NetDef, init_name: str, predict_name: str
) -> Model:
    """The model of an init net, or None, and a predict net, which come from files of these names.

    Runs the init net on the CPU, so it may only have operators that untrusted models may use. The
    inputs of the model are the blobs that the predict net reads and the init net does not fill. If
    it fills all of them, as with some exporters, the input is the first one that the predict net
    declares; if `init` is None, the first one that it reads. Raises ConvertError.
    """
    if not predict.op:
        raise ConvertError(f"{predict_name}: the net has no operators")
    values, shapes = {}, {}
    if init is not None:
        values = initial_values(init, init_name)
    read = _read_first(predict)
    external = list(dict.fromkeys([*predict.external_input, *read]))
    inputs = [name for name in external if name not in values] or external[:1]
    for name in inputs:
        made = values.pop(name, None)
        # One element is a placeholder.
        if made is not None and array_of(made).ndim > 1 and array_of(made).size > 1:
            shapes[name] = list(array_of(made).shape)
    used = {name for op in predict.op for name in op.input}
    outputs = list(predict.external_output) or list(predict.op[-1].output[:1])
    net = caffe2_pb2.NetDef.FromString(predict.SerializeToString())
    values = {name: value for name, value in values.items() if name in used}
    parameters = list(values)
    if init is None:  # all but one are parameters, and a net may declare them first
        inputs, parameters = [*read, *external][:1], external
    net.external_input[:] = list(dict.fromkeys([*inputs, *parameters]))
    net.external_output[:] = outputs
    return Model(net, values, inputs, outputs, shapes)


def initial_values(init: caffe2_pb2.NetDef, name: str) -> dict[str, Value]:
    """{blob: value} that an init net makes on the CPU. Raises ConvertError."""
    missing = _read_first(init)
    if missing:
        raise ConvertError(
            f"{name} cannot make the parameters: it reads {missing[0]}, which it does not make. "
            "The init net comes first, then the predict net: the two may be swapped"
        )
    on_cpu = caffe2_pb2.NetDef.FromString(init.SerializeToString())
    on_cpu.ClearField("device_option")
    for op in on_cpu.op:
        op.ClearField("device_option")
    try:
        safe = restricted(name, on_cpu)
        ws = C.Workspace()
        ws.run(safe)
        return {blob: value_of(ws.fetch_blob(blob)) for op in safe.op for blob in op.output}
    except (RuntimeError, TypeError) as error:
        raise ConvertError(
            f"{name}: the net that makes the parameters cannot run: " f"{one_line(error)}"
        ) from error


def infer_shapes(model: Model, batch: int | None = None) -> dict[str, list[int]]:
    """{blob: shape} of the blobs whose shape follows from the shapes of inputs and parameters.

    Args:
      batch: the first dimension of all inputs; default: as in `model.shapes`, but at least 1.

    Raises ConvertError for a net that cannot work on these shapes.
    """
    known = {name: list(array_of(value).shape) for name, value in model.values.items()}
    for name, shape in model.shapes.items():
        known[name] = [batch or max(shape[0], 1), *shape[1:]] if shape else []
    try:
        shapes, _ = workspace.InferShapesAndTypes([model.net], known)
    except RuntimeError as error:
        raise ConvertError(f"the shapes do not fit: {one_line(error)}") from error
    return {**shapes, **known}


def with_values(model: Model, values: Mapping[str, np.ndarray]) -> Model:
    """The model with other values for all parameters. Raises ConvertError, with names and shapes,
    if they do not fit."""
    own = float_values(model, "parameters without a net")
    for name, value in own.items():
        if name not in values:
            raise ConvertError(f"the parameter {name} is missing")
        if values[name].shape != value.shape:
            raise ConvertError(
                f"{name} has the shape {values[name].shape}, the model that --like "
                f"names has {value.shape}"
            )
    unknown = sorted(set(values) - set(model.values))
    if unknown:
        raise ConvertError(f"the model that --like names has no parameter {unknown[0]}")
    return dataclasses.replace(
        model,
        values={
            name: np.ascontiguousarray(values[name], value.dtype) for name, value in own.items()
        },
    )


def try_to_run(model: Model) -> None:
    """Runs the net on one image of zeros. Raises ConvertError if it cannot; the inference of shapes
    does not find every mismatch."""
    ws = C.Workspace()
    for name, value in model.values.items():
        ws.feed_blob(name, value)
    for name, shape in model.shapes.items():
        ws.feed_blob(name, np.zeros([1, *shape[1:]], np.float32))
    net = caffe2_pb2.NetDef.FromString(model.net.SerializeToString())
    net.ClearField("device_option")
    for op in net.op:
        op.ClearField("device_option")
    try:
        ws.run(restricted("the net", net))
    except RuntimeError as error:
        shapes = ", ".join(f"{name} {model.shapes[name][1:]}" for name in model.shapes)
        raise ConvertError(
            f"the net cannot run on one input of the shape {shapes}: " f"{one_line(error)}"
        ) from error


def need_shapes(model: Model) -> None:
    """Raises ConvertError if the shape of an input is not known."""
    for name in model.inputs:
        if name not in model.shapes:
            raise ConvertError(
                f"the shape of the input {name} is not known: give it without the batch, such as "
                f"--input_shape {name}=3,224,224"
            )
