"""Tensors shared with other libraries by DLPack, here with numpy."""

import ctypes
import gc

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import workspace

# What every numpy that imports DLPack takes; bool came later.
DTYPES = ["f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2"]


def tensor_of(array, name="x"):
    workspace.FeedBlob(name, array)
    return C.Workspace.current.get_blob(name).tensor()


class Old:
    """What speaks DLPack before 1.0: without max_version."""

    def __init__(self, source):
        self._source = source

    def __dlpack__(self, stream=None):
        return self._source.to_dlpack()

    def __dlpack_device__(self):
        return self._source.__dlpack_device__()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (3,), (2, 3, 4), (2, 0, 4)])
def test_export_shares_the_memory(dtype, shape):
    values = np.arange(np.prod(shape), dtype=np.float64).reshape(shape).astype(dtype)
    tensor = tensor_of(values)
    array = np.from_dlpack(tensor)
    assert array.dtype == values.dtype and array.shape == shape
    np.testing.assert_array_equal(array, values)
    np.testing.assert_array_equal(np.from_dlpack(Old(tensor)), values)
    if values.size:
        tensor.data[...] = 1  # a view as well
        assert (array == 1).all()


def test_exported_memory_outlives_its_blob():
    array = np.from_dlpack(tensor_of(np.full(1000, 7.0, np.float32)))
    workspace.ResetWorkspace()
    gc.collect()
    assert (array == 7).all()


def test_unused_capsule_lets_go():
    tensor = tensor_of(np.ones(3, np.float32))
    for _ in range(3):
        assert type(tensor.to_dlpack()).__name__ == "PyCapsule"
        tensor.__dlpack__(max_version=(1, 0))


def test_copy_is_of_its_own():
    tensor = tensor_of(np.ones(3, np.float32))
    capsule = tensor.__dlpack__(copy=True)
    copy = C.TensorCPU()
    copy.from_dlpack(capsule)
    copy.data[:] = 5
    np.testing.assert_array_equal(workspace.FetchBlob("x"), [1, 1, 1])


def test_capsule_says_whether_it_is_a_copy():
    tensor = tensor_of(np.ones(3, np.float32))
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    is_copied = 2
    for copy, flags in [(True, is_copied), (False, 0), (None, 0)]:
        capsule = tensor.__dlpack__(max_version=(1, 0), copy=copy)
        # DLManagedTensorVersioned: two uint32 of the version, two pointers, the flags.
        offset = 8 + 2 * ctypes.sizeof(ctypes.c_void_p)
        address = pointer_of(capsule, b"dltensor_versioned") + offset
        assert ctypes.c_uint64.from_address(address).value == flags


@pytest.mark.parametrize("dtype", DTYPES)
def test_import_shares_the_memory(dtype):
    array = np.arange(6).astype(dtype).reshape(2, 3)
    tensor = C.Workspace.current.create_blob("y")
    tensor.feed(np.zeros(1, np.float32))
    tensor = tensor.tensor()
    tensor.from_dlpack(array)
    array[1, 2] = 9
    fetched = workspace.FetchBlob("y")
    assert fetched.dtype == array.dtype
    np.testing.assert_array_equal(fetched, array)
    tensor.data[0, 0] = 4
    assert array[0, 0] == 4


def test_imported_memory_outlives_its_array():
    tensor = C.TensorCPU()
    array = np.full(1000, 3.0)
    tensor.from_dlpack(array)
    del array
    gc.collect()
    assert (tensor.fetch() == 3).all()


class Foreign:
    """A tensor of another library."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **arguments):
        return self._array.__dlpack__(**arguments)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_blobs_are_fed_with_tensors_of_other_libraries():
    array = np.arange(12, dtype=np.int64).reshape(3, 4)
    workspace.FeedBlob("x", Foreign(array[:, ::2]))
    expected = array[:, ::2].copy()
    array[:] = 0  # the blob has a copy
    np.testing.assert_array_equal(workspace.FetchBlob("x"), expected)
    assert workspace.FetchBlob("x").dtype == np.int64
    tensor = tensor_of(np.full((2, 2), 3, np.float32), "y")
    workspace.FeedBlob("z", tensor)
    np.testing.assert_array_equal(workspace.FetchBlob("z"), workspace.FetchBlob("y"))
    with pytest.raises(BufferError, match="string"):
        workspace.FeedBlob("x", tensor_of(np.array([b"a"], object), "text"))


def test_between_tensors_of_every_type():
    for data_type in (caffe2_pb2.TensorProto.BOOL, caffe2_pb2.TensorProto.BFLOAT16):
        source, target = C.TensorCPU(), C.TensorCPU()
        source.init([2, 3], data_type)
        source.data.view(np.uint8)[...] = 1
        target.from_dlpack(source)
        assert target.fetch().dtype == source.fetch().dtype
        assert (target.fetch().view(np.uint8) == 1).all()


def test_capsules_are_used_once():
    capsule = tensor_of(np.ones(3, np.float32)).to_dlpack()
    C.TensorCPU().from_dlpack(capsule)
    with pytest.raises(TypeError, match="unused DLPack capsule"):
        C.TensorCPU().from_dlpack(capsule)


def test_what_cannot_be_shared_is_named():
    tensor = C.TensorCPU()
    with pytest.raises(BufferError, match="no elements yet"):
        tensor.__dlpack__()
    with pytest.raises(BufferError, match="string"):
        tensor_of(np.array([b"a"], object)).__dlpack__()
    numbers = tensor_of(np.ones((2, 3), np.float32))
    with pytest.raises(BufferError, match="stream"):
        numbers.__dlpack__(stream=1)
    with pytest.raises(BufferError, match=r"\(2, 0\)"):
        numbers.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="row-major"):
        tensor.from_dlpack(np.ones((4, 6))[:, ::2])
    with pytest.raises(BufferError, match="type code 5"):
        tensor.from_dlpack(np.ones(3, np.complex64))
    with pytest.raises(TypeError, match="__dlpack__"):
        tensor.from_dlpack([1, 2])
    fixed = np.ones(3)
    fixed.flags.writeable = False
    with pytest.raises(BufferError, match="[Rr]ead-?only"):
        tensor.from_dlpack(fixed)
