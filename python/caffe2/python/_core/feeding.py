"""Values and devices in the form in which the library feeds blobs."""

from __future__ import annotations

import collections
import textwrap
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import scope
from caffe2.python._core.tensors import Caffe2TensorToNumpyArray

# A quantized tensor: data (uint8, or int32 of a bias) stand for scale * (data - zero_point).
Int8Tensor = collections.namedtuple("Int8Tensor", ["data", "scale", "zero_point"])


def device_bytes(device_option: caffe2_pb2.DeviceOption | None) -> bytes:
    """The serialized DeviceOption (None: the device scope's; empty without a scope)."""
    if device_option is None:
        device_option = scope.CurrentDeviceScope()
    if device_option is None:
        return b""
    return scope.checked_device(device_option).SerializeToString()


def _can_be_fed(item):
    return isinstance(item, (str, bytes, float)) or isinstance(item, int) and abs(item) < 2**63


def _array_of(value):
    array = np.asarray(value)
    for item in array.ravel() if array.dtype == object else ():
        if not _can_be_fed(item):
            raise TypeError("a blob takes numbers of at most 64 bits and strings, not "
                            f"{textwrap.shorten(repr(item), 40)}")
    return array


def _unmasked(array):
    masked = np.ma.count_masked(array)
    if masked:
        raise ValueError(f"a masked array cannot be fed: {masked} of its {array.size} elements "
                         "have no value; feed array.filled(0), or another value for them")
    return np.asarray(array)


def feedable(value: Any) -> Any:
    """`value` in a form that C.feed_blob accepts: numbers, lists, messages and, by DLPack, tensors
    of other libraries become arrays. Raises BufferError for a tensor that numpy cannot take,
    ValueError for an array with masked elements."""
    if isinstance(value, caffe2_pb2.TensorProto):
        return Caffe2TensorToNumpyArray(value)
    if isinstance(value, np.ma.MaskedArray):
        return _unmasked(value)
    if isinstance(value, (np.ndarray, str, bytes, Int8Tensor)):
        return value
    if isinstance(value, (bool, int, float, list, tuple, np.generic)):
        return _array_of(value)
    if hasattr(value, "__dlpack__"):
        return np.from_dlpack(value)
    return value
