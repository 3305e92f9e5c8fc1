"""Functions for frontend, backend and their users."""

from __future__ import annotations

import collections
import logging
import os
from collections.abc import Iterable, Sequence
from typing import Any, Union

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, utils
from caffe2.python._core.constants import constant_filler
from caffe2.python.onnx.workspace import Workspace

# Values by name, or in order.
Inputs = Union[dict[str, np.ndarray], Sequence[np.ndarray]]

log = logging.getLogger(__name__)

_used_names: set[str] = set()


def dummy_name(used_names: Iterable[str] | None = None) -> str | None:
    """A new blob name. With `used_names`, forgets the earlier names and avoids these instead."""
    if used_names is not None:
        _used_names.clear()
        _used_names.update(used_names)
        return None
    index = len(_used_names)
    while f"OC2_DUMMY_{index}" in _used_names:
        index += 1
    name = f"OC2_DUMMY_{index}"
    _used_names.add(name)
    return name


def named_outputs(names: Iterable[str], values: Iterable[Any]) -> Any:
    """The values as a namedtuple that can also be indexed by name. The fields of names that are not
    identifiers are _0, _1, ..."""
    names = list(names)

    base: Any = collections.namedtuple("Outputs", names, rename=True)  # type: ignore[misc]

    class Outputs(base):
        __slots__ = ()

        def __getitem__(self, key):
            return super().__getitem__(names.index(key) if isinstance(key, str) else key)

    return Outputs(*values)


def c2_native_run_op(op_def: caffe2_pb2.OperatorDef, inputs: Inputs) -> tuple[Workspace, Any]:
    """Runs one operator in a workspace of its own.

    Args:
      inputs: {blob: array}, or arrays in the order of the operator's inputs.

    Returns (Workspace, named_outputs of its outputs).
    """
    ws = Workspace()
    _feed(ws, inputs, op_def.input)
    ws.RunOperatorOnce(op_def)
    return ws, named_outputs(op_def.output, ws.FetchBlobs(op_def.output))


def c2_native_run_net(init_net: caffe2_pb2.NetDef | None, predict_net: caffe2_pb2.NetDef,
                      inputs: Inputs, debug_arg: str | None = None) -> tuple[Workspace, Any]:
    """Runs two NetDefs (the first may be None) in a workspace of their own.

    Args:
      inputs: {blob: array}, or arrays for the first external inputs that `init_net` does not make.
      debug_arg: text for the error if there are more arrays than such inputs.

    Returns (Workspace, named_outputs of the external outputs).
    """
    ws = Workspace()
    made = set()
    if init_net is not None:
        ws.RunNetOnce(init_net)
        made = {name for op in init_net.op for name in op.output}
    names = [name for name in predict_net.external_input if name not in made]
    _feed(ws, inputs, names, debug_arg)
    ws.RunNetOnce(predict_net)
    outputs = predict_net.external_output
    return ws, named_outputs(outputs, ws.FetchBlobs(outputs))


def _feed(ws, inputs, names, debug_arg=None):
    if not isinstance(inputs, dict):
        if len(inputs) > len(names):
            note = "" if debug_arg is None else f" ({debug_arg})"
            raise ValueError(f"{len(inputs)} values are too many for the inputs "
                             f"{list(names)}{note}")
        inputs = dict(zip(names, inputs))
    for name, value in inputs.items():
        ws.FeedBlob(name, np.asarray(value))


def load_caffe2_net(file: str | os.PathLike[str]) -> caffe2_pb2.NetDef:
    """A NetDef from a file, binary or text."""
    with open(file, "rb") as f:
        return utils.TryReadProtoWithClass(caffe2_pb2.NetDef, f.read())


def save_caffe2_net(net: caffe2_pb2.NetDef, file: str, output_txt: bool = False) -> None:
    """Writes a NetDef; with `output_txt` also as text beside it (file + "txt")."""
    with open(file, "wb") as f:
        f.write(net.SerializeToString())
    if output_txt:
        with open(file + "txt", "w") as f:
            f.write(str(net))


def fill_operator(array: np.ndarray, output: str) -> caffe2_pb2.OperatorDef:
    """The operator that makes a blob of this content. Some element types change, as Net.Const says,
    but not float64.

    Raises TypeError for an element type that has no such operator.
    """
    filler, arguments = constant_filler(np.asarray(array), keep_double=True)
    return core.CreateOperator(filler, [], output, arg=arguments)


def benchmark_caffe2_model(init_net: caffe2_pb2.NetDef, predict_net: caffe2_pb2.NetDef,
                           warmup_iters: int = 3, main_iters: int = 10,
                           layer_details: bool = True) -> float:
    """The mean milliseconds of a run of `predict_net`, whose inputs `init_net` must make. With
    `layer_details`, further runs time each operator, and the times are logged."""
    ws = Workspace()
    ws.RunNetOnce(init_net)
    ws.CreateNet(predict_net)
    times = ws.BenchmarkNet(predict_net.name, warmup_iters, main_iters, layer_details)
    for op, milliseconds in zip(predict_net.op, times[1:]):
        log.info("%s (%s): %.3f ms", op.type, ", ".join(op.output), milliseconds)
    return times[0]
