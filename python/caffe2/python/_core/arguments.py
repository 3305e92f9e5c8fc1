"""Arguments of operators and nets, as Python values and as messages."""

from __future__ import annotations

import collections.abc
from collections.abc import Iterable
from typing import Any

import numpy as np
from google.protobuf.message import Message

from caffe2.proto import caffe2_pb2
from caffe2.python._core.tensors import as_bytes


def _is_integer(value):
    return isinstance(value, (int, np.integer, np.bool_))


def _is_number(value):
    return _is_integer(value) or isinstance(value, (float, np.floating))


def _set_list(argument, values):
    """Sets the repeated field that fits all values; False if none does."""
    if all(_is_integer(value) for value in values):
        argument.ints.extend(int(value) for value in values)
    elif all(_is_number(value) for value in values):
        argument.floats.extend(float(value) for value in values)
    elif all(isinstance(value, (str, bytes)) or hasattr(value, "GetName") for value in values):
        argument.strings.extend(
            as_bytes(value) if isinstance(value, (str, bytes)) else str(value).encode()
            for value in values)
    elif all(isinstance(value, caffe2_pb2.NetDef) for value in values):
        argument.nets.extend(values)
    elif all(isinstance(value, caffe2_pb2.TensorProto) for value in values):
        argument.tensors.extend(values)
    elif all(isinstance(value, Message) for value in values):
        argument.strings.extend(value.SerializeToString() for value in values)
    else:
        return False
    return True


def MakeArgument(key: str, value: Any) -> caffe2_pb2.Argument:
    """The Argument of an operator for a Python value.

    bool and integers go to `i`, floats to `f`, str, bytes and messages (serialized) to `s`, a
    NetDef to `n`, a TensorProto to `t`; lists, tuples, ranges and arrays to the repeated field
    that fits all elements.

    Raises ValueError, naming the argument, for anything else.
    """
    argument = caffe2_pb2.Argument()
    argument.name = key
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, str):
        argument.s = value.encode()
    elif isinstance(value, bytes):
        argument.s = value
    elif _is_integer(value):
        argument.i = int(value)
    elif _is_number(value):
        argument.f = float(value)
    elif isinstance(value, caffe2_pb2.NetDef):
        argument.n.CopyFrom(value)
    elif isinstance(value, caffe2_pb2.TensorProto):
        argument.t.CopyFrom(value)
    elif isinstance(value, Message):
        argument.s = value.SerializeToString()
    elif hasattr(value, "GetName"):  # a BlobReference
        argument.s = str(value).encode()
    elif (isinstance(value, collections.abc.Mapping)
          or not isinstance(value, collections.abc.Iterable)
          or not _set_list(argument, list(value))):
        raise ValueError(
            f"Unknown argument type: key={key} value={value!r}, value type={type(value)}")
    return argument


def GetArgFromArgument(argument: caffe2_pb2.Argument) -> Any:
    """The Python value of an Argument; None if it holds nothing."""
    for field in ("f", "i", "s", "n", "t"):
        if argument.HasField(field):
            return getattr(argument, field)
    for field in ("floats", "ints", "strings", "nets", "tensors"):
        if len(getattr(argument, field)):
            return list(getattr(argument, field))
    return None


def ArgsToDict(args: Iterable[caffe2_pb2.Argument]) -> dict[str, Any]:
    """{name: value} of Arguments."""
    return {argument.name: GetArgFromArgument(argument) for argument in args}
