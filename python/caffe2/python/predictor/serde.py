"""Messages as bytes, and back."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import Message

_M = TypeVar("_M", bound=Message)


def serialize_protobuf_struct(protobuf_struct: Message) -> bytes:
    """The bytes of a message."""
    return protobuf_struct.SerializeToString()


def deserialize_protobuf_struct(serialized_protobuf: bytes, struct_type: type[_M]) -> _M:
    """The message of a type, from its bytes. Raises protobuf's DecodeError for others."""
    return struct_type.FromString(serialized_protobuf)
