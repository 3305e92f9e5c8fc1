"""Copies of nets, and changes of NetDefs and OperatorDefs in place; used by core.Net."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caffe2.proto import caffe2_pb2

# Renames in the arguments of an operator: (OperatorDef, "<name of the net>/", {old: new}).
RemapFunction = Callable[[caffe2_pb2.OperatorDef, str, Mapping[str, str]], None]


def rename_in_arguments(op: caffe2_pb2.OperatorDef, remap: Mapping[str, str]) -> None:
    """Renames blobs in the arguments of an operator, in place: {old: new}."""
    for argument in op.arg if remap else ():
        argument.strings[:] = [
            remap.get(text.decode(), text.decode()).encode() for text in argument.strings]
        for nested in argument.n.op if argument.HasField("n") else ():
            for blobs in (nested.input, nested.output, nested.control_input):
                blobs[:] = [remap.get(blob, blob) for blob in blobs]
            if nested.type in DEFAULT_REMAP_FUNCS:
                rename_in_arguments(nested, remap)
        if argument.HasField("n"):
            for blobs in (argument.n.external_input, argument.n.external_output):
                blobs[:] = [remap.get(blob, blob) for blob in blobs]


def recurrent_network_op_remap(op: caffe2_pb2.OperatorDef, prefix: str,
                               blob_remap: Mapping[str, str]) -> None:
    """Renames blobs in the arguments of RecurrentNetwork or its gradient, in place: {old: new}.
    `prefix` is not used."""
    rename_in_arguments(op, blob_remap)


def control_op_remap(op: caffe2_pb2.OperatorDef, prefix: str,
                     blob_remap: Mapping[str, str]) -> None:
    """Renames blobs in the nets of If, AsyncIf or While, in place: {old: new}. `prefix` is not
    used."""
    rename_in_arguments(op, blob_remap)


# The functions that Net.Clone calls by default, by operator type.
DEFAULT_REMAP_FUNCS = {
    **dict.fromkeys(("RecurrentNetwork", "RecurrentNetworkGradient"), recurrent_network_op_remap),
    **dict.fromkeys(("If", "AsyncIf", "While"), control_op_remap),
}


def copy_net(proto: caffe2_pb2.NetDef, name: str, remap: Mapping[str, str], kept: Iterable[int],
             remap_funcs: Mapping[str, RemapFunction] | None = None) -> caffe2_pb2.NetDef:
    """A copy of a NetDef under another name.

    Args:
      remap: {old blob: new blob}.
      kept: the indices of the operators to copy.
      remap_funcs: see Net.Clone.
    """

    def renamed(blobs):
        return [remap.get(blob, blob) for blob in blobs]

    copied = caffe2_pb2.NetDef()
    copied.CopyFrom(proto)
    copied.name = name
    copied.ClearField("op")
    copied.external_input[:] = renamed(proto.external_input)
    copied.external_output[:] = renamed(proto.external_output)
    functions = {**DEFAULT_REMAP_FUNCS, **(remap_funcs or {})}
    prefix = name + "/" if name else ""
    for index in kept:
        op = copied.op.add()
        op.CopyFrom(proto.op[index])
        op.input[:] = renamed(op.input)
        op.output[:] = renamed(op.output)
        op.control_input[:] = renamed(op.control_input)
        if op.type in functions:
            functions[op.type](op, prefix, remap)
    return copied


def set_external_blobs(proto: caffe2_pb2.NetDef) -> None:
    """Derives the external inputs and outputs of a NetDef from its operators."""
    read: dict[str, None] = {}
    written: dict[str, None] = {}
    used: set[str] = set()
    for op in proto.op:
        for blob in op.input:
            (used.add if blob in written else read.setdefault)(blob)
        written.update(dict.fromkeys(op.output))
    proto.external_input[:] = read
    proto.external_output[:] = [blob for blob in written if blob not in used]


def remap_input(op: caffe2_pb2.OperatorDef, blob_name_remapping: Mapping[str, str]) -> None:
    """Renames inputs of an OperatorDef in place: {old: new}."""
    names = [blob_name_remapping.get(name, name) for name in op.input]
    op.ClearField("input")
    op.input.extend(names)


def clone_and_bind_net(net: Any, name: str, prefix: str,
                       blob_remap: Mapping[str, str] | None = None, inputs: Any = None,
                       keep_schema: bool = True) -> tuple[Any, dict[str, str]]:
    """A copy of a net whose own blobs get a prefix; `inputs` replace its input record's blobs."""
    remap = dict(blob_remap or {})
    if inputs is not None:
        remap.update(zip(map(str, net.input_record().field_blobs()),
                         map(str, inputs.field_blobs())))
    for op in net.Proto().op:
        for blob in op.output:
            remap.setdefault(blob, prefix + blob)
    return net.Clone(name, remap, keep_schema=keep_schema), remap


def remap_proto(argument: caffe2_pb2.Argument, blob_remap: Mapping[Any, Any]) -> None:
    """Renames the blobs of a NetDef held in an argument, in place: {old: new}."""
    net, remap = argument.n, {str(old): str(new) for old, new in blob_remap.items()}
    net.CopyFrom(copy_net(net, net.name, remap, range(len(net.op))))
