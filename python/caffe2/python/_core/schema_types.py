"""Types of columns in numpy and in the library; public through caffe2.python.schema."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from caffe2.proto import caffe2_pb2
from caffe2.python._core.blob_reference import BlobReference

_Type = caffe2_pb2.TensorProto

_DATA_TYPES = (
    (np.dtype(str), _Type.STRING),
    (np.dtype(bytes), _Type.STRING),
    (np.dtype(object), _Type.STRING),
    (np.dtype(np.float32), _Type.FLOAT),
    (np.dtype(np.float64), _Type.DOUBLE),
    (np.dtype(np.float16), _Type.FLOAT16),
    (np.dtype(np.bool_), _Type.BOOL),
    (np.dtype(np.int8), _Type.INT8),
    (np.dtype(np.int16), _Type.INT16),
    (np.dtype(np.int32), _Type.INT32),
    (np.dtype(np.int64), _Type.INT64),
    (np.dtype(np.uint8), _Type.UINT8),
    (np.dtype(np.uint16), _Type.UINT16),
)


class FeatureSpec(collections.namedtuple(
        "FeatureSpec", ["feature_type", "feature_names", "feature_ids", "feature_is_request_only",
                        "desired_hash_size", "feature_to_index"],
        defaults=[None, None, None, None, None, None])):
    """The features in a column, as layer models describe them.

    Fields: `feature_type`, "FLOAT", "ID_LIST", ...; `feature_names` and `feature_ids`, lists;
    `feature_is_request_only`, whether it is the same for all rows of a request;
    `desired_hash_size`, the number of values that its ids may be hashed to; `feature_to_index`,
    {feature: list of its places in an element}.
    """

    __slots__ = ()


class Metadata(collections.namedtuple(
        "Metadata", ["categorical_limit", "expected_value", "feature_specs"])):
    """The properties of a column besides its type.

    Fields: `categorical_limit`, an exclusive upper bound of its integers; `expected_value`, the
    typical value (for lengths: the typical length); `feature_specs`, a FeatureSpec or any object.
    """

    __slots__ = ()

    def __new__(cls, categorical_limit: int | None = None, expected_value: float | None = None,
                feature_specs: Any = None) -> Metadata:
        return super().__new__(cls, categorical_limit, expected_value, feature_specs)


def data_type_for_dtype(dtype: DTypeLike) -> int:
    """The DataType of a numpy dtype, whose shape is ignored; raises TypeError for other types."""
    base = np.dtype(dtype).base
    for candidate, data_type in _DATA_TYPES:
        if base == candidate or (base.kind in "SU" and candidate.kind == base.kind):
            return data_type
    raise TypeError(f"Unknown dtype: {base}")


def dtype_for_core_type(core_type: int) -> type:
    """The numpy type of a DataType; raises TypeError."""
    for dtype, data_type in _DATA_TYPES:
        if data_type == core_type:
            return str if data_type == _Type.STRING else dtype.type
    raise TypeError(f"Unknown core type: {core_type}")


def scalar_type(dtype: Any, blob: Any) -> tuple[np.dtype, Any]:
    """(dtype, blob) of a column: a number or list becomes an array."""
    if isinstance(dtype, tuple) and dtype[0] == np.void:
        raise TypeError(f"Cannot set the Scalar with type {dtype} for blob {blob}: the element "
                        "shape of an unknown type")
    if isinstance(dtype, tuple) and isinstance(dtype[1], int):
        dtype = dtype[0], (dtype[1],)  # numpy once took (type, 1) for the type alone
    if dtype is not None:
        dtype = np.dtype(dtype)
    if blob is not None and not isinstance(blob, BlobReference):
        blob = _as_array(dtype, blob)
        if dtype is None:
            dtype = np.dtype((blob.dtype, blob.shape[1:]))
        elif blob.ndim > 1 and dtype.base != np.void:
            dtype = np.dtype((dtype.base, blob.shape[1:]))
    if dtype is None:
        dtype = np.dtype(np.void)
    if dtype.fields:
        raise TypeError("Cannot create Scalar with a structured dtype. Use from_dtype instead.")
    return dtype, blob


def _as_array(dtype, data):
    """The data as an array of rows."""
    given_shape = isinstance(data, np.ndarray)
    if dtype is None or dtype == np.void:
        array = np.asarray(data)
    elif given_shape and data.dtype == np.dtype("O"):
        array = data
    else:
        array = np.array(data, dtype=dtype.base)
    if array.dtype.kind in "SU":
        array = array.astype(object)
    if given_shape:
        return array
    if array.size == 0 and dtype is not None:
        return array.reshape((0, *dtype.shape))
    return array.reshape(1) if array.ndim == 0 else array
