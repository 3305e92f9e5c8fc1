"""Tensors as numpy arrays, and as messages."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2

_TensorProto = caffe2_pb2.TensorProto

# The numpy type of bfloat16 in FeedBlob and FetchBlob: the 16 bits.
bfloat16 = np.dtype([("bfloat16", "<u2")])

# DataType -> (numpy type, field of TensorProto)
_TENSOR_TYPES: dict[int, tuple[Any, str]] = {
    _TensorProto.FLOAT: (np.float32, "float_data"),
    _TensorProto.DOUBLE: (np.float64, "double_data"),
    _TensorProto.INT64: (np.int64, "int64_data"),
    _TensorProto.INT32: (np.int32, "int32_data"),
    _TensorProto.INT16: (np.int16, "int32_data"),
    _TensorProto.UINT16: (np.uint16, "int32_data"),
    _TensorProto.INT8: (np.int8, "int32_data"),
    _TensorProto.UINT8: (np.uint8, "int32_data"),
    _TensorProto.BOOL: (np.bool_, "int32_data"),
    _TensorProto.FLOAT16: (np.float16, "int32_data"),
    _TensorProto.BFLOAT16: (bfloat16, "int32_data"),
}
_DATA_TYPES = {
    np.dtype(dtype): data_type for data_type, (dtype, _) in _TENSOR_TYPES.items()
}


def FloatToBFloat16(array: Any) -> np.ndarray:
    """float32 values rounded to nearest even, as an array of `bfloat16`."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(array), quiet, rounded).astype("<u2").view(bfloat16)


def BFloat16ToFloat(array: np.ndarray) -> np.ndarray:
    """The float32 values of an array of `bfloat16`."""
    return (array.view("<u2").astype(np.uint32) << 16).view(np.float32)


def numpy_type(data_type: int) -> np.dtype:
    """The numpy type of the elements of a DataType. Raises ValueError for a DataType without a
    number type in numpy, such as STRING."""
    if data_type not in _TENSOR_TYPES:
        raise ValueError(f"numpy has no number type for the DataType {data_type}")
    return np.dtype(_TENSOR_TYPES[data_type][0])


def _holds_bits(data_type):
    return data_type in (_TensorProto.FLOAT16, _TensorProto.BFLOAT16)


def NumpyArrayToCaffe2Tensor(arr: Any, name: object = None) -> caffe2_pb2.TensorProto:
    """A TensorProto with shape, type and elements of the array.

    Raises TypeError for element types that tensors do not have.
    """
    arr = np.asarray(arr)
    tensor = caffe2_pb2.TensorProto()
    tensor.dims.extend(arr.shape)
    if name:
        tensor.name = str(name)
    if arr.dtype.kind in "SUO":
        tensor.data_type = _TensorProto.STRING
        tensor.string_data.extend(as_bytes(item) for item in arr.ravel().tolist())
        return tensor
    if arr.dtype not in _DATA_TYPES:
        raise TypeError(f"a tensor cannot hold elements of {arr.dtype}")
    tensor.data_type = _DATA_TYPES[arr.dtype]
    flat = np.ascontiguousarray(arr).ravel()
    if _holds_bits(tensor.data_type):
        flat = flat.view(np.uint16)
    elif tensor.data_type == _TensorProto.BOOL:
        flat = flat.view(np.uint8)
    getattr(tensor, _TENSOR_TYPES[tensor.data_type][1]).extend(flat.tolist())
    return tensor


def Caffe2TensorToNumpyArray(tensor: caffe2_pb2.TensorProto) -> np.ndarray:
    """The elements of a TensorProto as an array of its shape; strings as an array of bytes.

    Raises ValueError if type and data do not fit.
    """
    if tensor.data_type == _TensorProto.STRING:
        return np.array(list(tensor.string_data), dtype=object).reshape(tuple(tensor.dims))
    if tensor.data_type == _TensorProto.BYTE:
        return np.frombuffer(tensor.byte_data, np.uint8).reshape(tuple(tensor.dims)).copy()
    if tensor.data_type not in _TENSOR_TYPES:
        raise ValueError(f"tensor {tensor.name!r} is of unknown type {tensor.data_type}")
    dtype, field = _TENSOR_TYPES[tensor.data_type]
    values = getattr(tensor, field)
    if _holds_bits(tensor.data_type):
        return np.array(values, np.uint16).view(dtype).reshape(tuple(tensor.dims))
    return np.array(values, dtype).reshape(tuple(tensor.dims))


def CaffeBlobToNumpyArray(blob: Any) -> np.ndarray:
    """The elements of a Caffe BlobProto (num, channels, height, width, or shape)."""
    if blob.num or blob.channels or blob.height or blob.width:
        shape = (blob.num, blob.channels, blob.height, blob.width)
    else:
        shape = tuple(blob.shape.dim)
    return np.asarray(blob.data, np.float32).reshape(shape)


def as_bytes(value: str | bytes) -> bytes:
    """Text or bytes as bytes; raises TypeError for anything else."""
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"expected str or bytes, not {value!r}")
