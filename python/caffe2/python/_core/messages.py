"""Converts messages and names to bytes and strings, which the library takes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar, Union

from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from caffe2.proto import caffe2_pb2

_M = TypeVar("_M", bound=Message)


class HasProto(Protocol):
    """A Net, Plan, ExecutionStep or ModelHelper."""

    def Proto(self) -> Any:
        """Its message."""


# What becomes the bytes of a message.
ProtoLike = Union[Message, HasProto, bytes, str]


def TryReadProtoWithClass(cls: type[_M], s: str | bytes) -> _M:
    """A message of class `cls` from its text or binary form (str or bytes).

    Raises DecodeError if it is neither, or has more than 100 levels of messages.
    """
    try:
        message = text_format.Parse(s, cls())
    except (text_format.ParseError, UnicodeDecodeError):
        return cls.FromString(s if isinstance(s, bytes) else s.encode("latin-1"))
    except RecursionError as error:
        raise DecodeError("too many levels of messages") from error
    # Only the binary form has the limit.
    return cls.FromString(message.SerializePartialToString())


def TryReadProto(s: str | bytes, *classes: type[Message]) -> Message:
    """The first of the classes that the text or bytes can be read as; raises DecodeError."""
    for cls in classes:
        try:
            return TryReadProtoWithClass(cls, s)
        except DecodeError:
            continue
    raise DecodeError("the text is none of the messages "
                      + ", ".join(cls.__name__ for cls in classes))


def ConvertProtoToBinary(proto_class: type[Message], filename: str, out_filename: str) -> None:
    """Reads a message in text form and writes it in binary form."""
    with open(filename, encoding="utf-8") as source:
        message = text_format.Parse(source.read(), proto_class())
    with open(out_filename, "wb") as target:
        target.write(message.SerializeToString())


def GetContentFromProto(obj: Message, function_map: Mapping[type, Callable[[Any], Any]]) -> Any:
    """function(message) of the first type of `function_map`, {message class: function}, that the
    message has; None if it has none."""
    for cls, function in function_map.items():
        if isinstance(obj, cls):
            return function(obj)
    return None


def GetContentFromProtoString(s: str | bytes,
                              function_map: Mapping[type, Callable[[Any], Any]]) -> Any:
    """function(message) of the first type of `function_map`, {message class: function}, that the
    text or bytes `s` can be read as; raises DecodeError."""
    for cls, function in function_map.items():
        try:
            message: Any = TryReadProtoWithClass(cls, s)
        except DecodeError:
            continue
        return function(message)
    raise DecodeError("the text is none of the messages "
                      + ", ".join(cls.__name__ for cls in function_map))


_MAKERS = {"NetDef": "a Net, a ModelHelper or a NetDef", "PlanDef": "a Plan or a PlanDef",
           "OperatorDef": "an OperatorDef (core.CreateOperator)"}


def StringifyProto(obj: ProtoLike, wanted: type[Message] = Message) -> bytes:
    """The bytes of a message, or of the message of a Net, Plan, ModelHelper or operator.

    Raises TypeError for anything else, also for a message of another class than `wanted`.
    """
    if isinstance(obj, bytes):
        return obj
    if isinstance(obj, str):
        return obj.encode()
    message = obj.Proto() if hasattr(obj, "Proto") else obj
    if isinstance(message, wanted):
        return message.SerializeToString()
    raise TypeError(f"{_MAKERS.get(wanted.__name__, 'a message')} is needed, not {obj!r} of type "
                    f"{type(obj).__name__}")


def StringifyNetName(name: Any) -> str:
    """The name of a net given as a string, a Net or a NetDef; raises TypeError."""
    if isinstance(name, str):
        return name
    if isinstance(name, bytes):
        return name.decode()
    if isinstance(name, caffe2_pb2.NetDef):
        return name.name
    if hasattr(name, "Name"):
        return name.Name()
    hint = "; give its net" if hasattr(name, "net") else ""
    raise TypeError(f"a net is a string or a Net, not {name!r}{hint}")


def StringifyBlobName(name: Any) -> str:
    """The name of a blob given as a string or a BlobReference; raises TypeError."""
    if isinstance(name, str):
        return name
    if isinstance(name, bytes):
        return name.decode()
    if hasattr(name, "GetName"):
        return str(name)
    raise TypeError(f"a blob is a string or a BlobReference, not {name!r}")
