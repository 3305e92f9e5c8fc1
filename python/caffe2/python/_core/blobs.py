"""Blobs of the current workspace: fed, fetched, removed (part of workspace)."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.feeding import Int8Tensor, device_bytes, feedable
from caffe2.python._core.messages import StringifyBlobName
from caffe2.python._core.operator_def import CreateOperator
from caffe2.python._core.tensors import numpy_type


def HasBlob(name: BlobLike) -> bool:
    """True if the current workspace has a blob of this name."""
    return C.has_blob(StringifyBlobName(name))


def with_near_names(error: RuntimeError, name: str, names: Sequence[str]) -> RuntimeError:
    """The error, extended by the entries of `names` that are most like `name`."""
    near = difflib.get_close_matches(name, names, 3)
    return RuntimeError(f"{error}; did you mean {', '.join(near)}?") if near else error


def FeedBlob(name: BlobLike, arr: Any,
             device_option: caffe2_pb2.DeviceOption | None = None) -> bool:
    """Sets a blob to a copy of a value; makes the blob if there is none.

    Args:
      name: the blob.
      arr: an array of any shape and layout; numbers and (nested) lists of them become arrays;
        str and bytes (not arrays of them) become a C++ string; a TensorProto; or an Int8Tensor
        of a uint8 or int32 array, which becomes a quantized tensor in host memory.
      device_option: the device of the tensor; default: the device scope, else the CPU.

    Arrays of str or bytes become tensors of strings, arrays of `workspace.bfloat16` (or of
    ml_dtypes' bfloat16) tensors of bfloat16. Raises TypeError for a value that no blob can hold,
    and RuntimeError for one of another shape or type than the blob has while another thread runs
    a net that uses the blob.
    """
    return C.feed_blob(StringifyBlobName(name), feedable(arr), device_bytes(device_option))


def FetchBlob(name: BlobLike) -> Any:
    """A copy of a blob: an array of the tensor's shape and type, the bytes of a C++
    string, a quantized tensor as an Int8Tensor, or for other C++ objects a line that names the
    type.

    Raises RuntimeError if there is no such blob.
    """
    name = StringifyBlobName(name)
    try:
        return C.fetch_blob(name)
    except RuntimeError as error:
        if C.has_blob(name):
            raise
        raise with_near_names(error, name, C.blobs()) from None


def FetchBlobs(names: Iterable[BlobLike]) -> list[Any]:
    """The results of FetchBlob for each name, a list. Raises TypeError for a single name."""
    if isinstance(names, (str, bytes)):
        raise TypeError(f"FetchBlobs takes a list of blobs, not {names!r}; see FetchBlob")
    return [FetchBlob(name) for name in names]


def FetchInt8Blob(name: BlobLike) -> Int8Tensor:
    """A copy of a quantized tensor as an Int8Tensor. Raises TypeError for another blob."""
    value = FetchBlob(name)
    if not isinstance(value, tuple):
        raise TypeError(f"blob {StringifyBlobName(name)} is no quantized tensor")
    return Int8Tensor(*value)


def FetchInt8BlobRealVal(name: BlobLike) -> np.ndarray:
    """The values of a quantized tensor: float32, scale * (data - zero_point)."""
    data, scale, zero_point = FetchInt8Blob(name)
    return np.float32(scale) * (data.astype(np.int64) - zero_point).astype(np.float32)


def RemoveBlob(name: BlobLike) -> bool:
    """Removes a blob; True if there was one.

    Created nets that use it keep it, empty, until it is fed or written again. Raises
    RuntimeError if another thread runs a net that uses it.
    """
    return C.Workspace.current._remove_blob(StringifyBlobName(name))


def ResetBlob(name: BlobLike) -> None:
    """Empties a blob, which stays in the workspace. Raises RuntimeError if there is none."""
    _existing(name)
    ResetBlobs([name])


def ResetBlobs(blobs: Iterable[BlobLike]) -> None:
    """Empties the named blobs of the current workspace."""
    for blob in blobs:
        operator = CreateOperator("Free", [str(blob)], [str(blob)])
        C.run_operator_once(operator.SerializeToString())


def CreateOfflineTensor(name: BlobLike, dims: Iterable[int],
                        datatype: int = caffe2_pb2.TensorProto.FLOAT) -> bool:
    """Makes a blob with a tensor of zeros, of a shape and DataType, so that shapes and types can be
    inferred from the workspace. (Caffe2's tensor has no elements.)

    Returns True. Raises ValueError for a type that has no zeros.
    """
    dtype = numpy_type(datatype)
    return C.feed_blob(StringifyBlobName(name), np.zeros([int(d) for d in dims], dtype), "")


# The bytes of a string besides its characters: sizeof(std::string).
_STRING_BYTES = 32


def GetBlobSizeBytes(name: BlobLike) -> int:
    """The size of the elements of a tensor in bytes; 0 for a blob that holds no tensor.

    Raises RuntimeError if there is no such blob.
    """
    _existing(name)
    value = FetchBlob(name)
    if isinstance(value, tuple):
        value = value[0]
    if not isinstance(value, np.ndarray):
        return 0
    if value.dtype.kind in "OSU":
        return sum(_STRING_BYTES + len(item) for item in value.ravel())
    return value.nbytes


def GetBlobNUMANode(name: BlobLike) -> int:
    """The NUMA node of a blob's memory: always -1, which means none.

    Raises RuntimeError if there is no such blob.
    """
    _existing(name)
    return -1


def _existing(name):
    name = StringifyBlobName(name)
    if not C.has_blob(name):
        raise with_near_names(RuntimeError(f"Can't find blob: {name}"), name, C.blobs())


def SerializeBlob(name: BlobLike) -> bytes:
    """The blob as bytes (a BlobProto)."""
    return C.serialize_blob(StringifyBlobName(name))


class _BlobDict:
    """The blobs of the current workspace as a dict of their values: workspace.blobs["x"]."""

    def __getitem__(self, key: BlobLike) -> Any:
        if not HasBlob(key):
            raise KeyError(key)
        return FetchBlob(key)

    def __setitem__(self, key: BlobLike, value: Any) -> None:
        FeedBlob(key, value)

    def __delitem__(self, key: BlobLike) -> None:
        if not RemoveBlob(key):
            raise KeyError(key)

    def __len__(self) -> int:
        return len(C.blobs())

    def __iter__(self) -> Iterator[str]:
        return iter(C.blobs())

    def __contains__(self, item: BlobLike) -> bool:
        return HasBlob(item)

    def keys(self) -> Sequence[str]:
        return C.blobs()

    def values(self) -> list[Any]:
        return [self[key] for key in self]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self]


blobs = _BlobDict()
