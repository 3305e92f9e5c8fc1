"""The name and device scopes that apply to blobs and operators created in them.

Scopes belong to the thread that opens them.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

from caffe2.proto import caffe2_pb2

_NAMESCOPE_SEPARATOR = "/"
_scopes = threading.local()


def CurrentNameScope() -> str:
    """The prefix of names made here, ending in "/" unless it is empty."""
    return getattr(_scopes, "name", "")


def CurrentDeviceScope() -> caffe2_pb2.DeviceOption | None:
    """The DeviceOption of operators made here, or None."""
    return getattr(_scopes, "device", None)


@contextlib.contextmanager
def NameScope(prefix: str | None, reset: bool = False) -> Iterator[None]:
    """Puts "<prefix>/" before the names of blobs.

    Args:
      prefix: str, or None for no addition.
      reset: True to start from no scope instead of the current one.

    Raises TypeError if the prefix is no string.
    """
    if prefix is not None and not isinstance(prefix, str):
        raise TypeError(f"a name scope is a string, not {prefix!r}")
    outer = CurrentNameScope()
    addition = prefix + _NAMESCOPE_SEPARATOR if prefix else ""
    _scopes.name = addition if reset else outer + addition
    try:
        yield
    finally:
        _scopes.name = outer


def checked_device(device: Any) -> caffe2_pb2.DeviceOption:
    """The DeviceOption; raises TypeError, which says how to make one, for anything else."""
    if not isinstance(device, caffe2_pb2.DeviceOption):
        raise TypeError(
            "a device is a DeviceOption, such as core.DeviceOption(caffe2_pb2.CPU) or "
            f"core.DeviceOption(caffe2_pb2.CUDA, 0), not {device!r}")
    return device


@contextlib.contextmanager
def DeviceScope(scope: caffe2_pb2.DeviceOption | None,
                node_name: str | None = None) -> Iterator[None]:
    """Places operators on the device of the DeviceOption `scope`.

    The node name is `node_name`, else the one in `scope`, else the outer scope's. The extra_info is
    the outer scope's followed by the one in `scope`. Raises ValueError without both arguments,
    TypeError if `scope` is no DeviceOption.
    """
    if not scope and not node_name:
        raise ValueError("DeviceScope needs a DeviceOption or a node name")
    inner = caffe2_pb2.DeviceOption()
    if scope:
        inner.CopyFrom(checked_device(scope))
    outer = CurrentDeviceScope()
    if node_name:
        inner.node_name = node_name
    elif outer is not None and outer.HasField("node_name") and not inner.HasField("node_name"):
        inner.node_name = outer.node_name
    if outer is not None:
        inner.extra_info[:] = [*outer.extra_info, *inner.extra_info]
    _scopes.device = inner
    try:
        yield
    finally:
        _scopes.device = outer


@contextlib.contextmanager
def EmptyNameScope() -> Iterator[None]:
    """No name scope, whatever is outside."""
    with NameScope(None, reset=True):
        yield


@contextlib.contextmanager
def EmptyDeviceScope() -> Iterator[None]:
    """No device scope, whatever is outside."""
    outer = CurrentDeviceScope()
    _scopes.device = None
    try:
        yield
    finally:
        _scopes.device = outer
