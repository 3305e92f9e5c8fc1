"""Builds message classes from the file descriptors beside this module."""

from __future__ import annotations

import pathlib
from collections.abc import MutableMapping
from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.internal import enum_type_wrapper


def _load_pool():
    """The descriptors in a pool of their own: other copies of these messages do not collide."""
    described = descriptor_pb2.FileDescriptorSet()
    described.ParseFromString(pathlib.Path(__file__).with_name("descriptors.bin").read_bytes())
    pool = descriptor_pool.DescriptorPool()
    for file in described.file:
        pool.AddSerializedFile(file.SerializeToString())
    return pool


_POOL = _load_pool()

if hasattr(message_factory, "GetMessageClass"):
    _message_class = message_factory.GetMessageClass
else:
    _message_class = message_factory.MessageFactory(_POOL).GetPrototype


def export(file_name: str, namespace: MutableMapping[str, Any]) -> None:
    """Defines the messages, enums and enum values of a .proto file in a module's namespace."""
    file = _POOL.FindFileByName(file_name)
    namespace["DESCRIPTOR"] = file
    for name, descriptor in file.message_types_by_name.items():
        message = _message_class(descriptor)
        message.__module__ = namespace["__name__"]
        namespace[name] = message
    for name, descriptor in file.enum_types_by_name.items():
        namespace[name] = enum_type_wrapper.EnumTypeWrapper(descriptor)
        namespace.update((value.name, value.number) for value in descriptor.values)
