"""Operators that hold constant arrays; used by core.Net.Const."""

from __future__ import annotations

import numpy as np

from caffe2.proto import caffe2_pb2

_CONST_FILLERS = {
    "f": ("GivenTensorFill", np.float32),
    "b": ("GivenTensorBoolFill", np.bool_),
    "S": ("GivenTensorStringFill", object),
    "U": ("GivenTensorStringFill", object),
    "O": ("GivenTensorStringFill", object),
}


def _const_filler(dtype, keep_double):
    if dtype == np.float64 and keep_double:
        return "GivenTensorDoubleFill", np.float64
    if dtype in (np.int64, np.uint32):
        return "GivenTensorInt64Fill", np.int64
    if dtype.kind in "iu" and dtype.itemsize <= 4:
        return "GivenTensorIntFill", np.int32
    if dtype.kind in _CONST_FILLERS:
        return _CONST_FILLERS[dtype.kind]
    raise TypeError(f"a constant cannot hold elements of {dtype}")


def constant_filler(array: np.ndarray, keep_double: bool = False
                    ) -> tuple[str, list[caffe2_pb2.Argument]]:
    """(operator type, arguments "shape" and "values") of the operator that makes an array; see
    Net.Const for the types; with `keep_double` float64 stays. Raises TypeError for elements that no
    tensor holds.
    """
    filler, element = _const_filler(array.dtype, keep_double)
    for item in array.ravel() if array.dtype == object else ():
        if not isinstance(item, (str, bytes)):
            raise TypeError(f"a constant is made of numbers or strings, not {item!r}")
    values = array.astype(element).ravel().tolist()
    return filler, [_shape_argument(array.shape), _values_argument(filler, values)]


def _shape_argument(shape):
    argument = caffe2_pb2.Argument(name="shape")
    argument.ints.extend(shape)
    return argument


def _values_argument(filler, values):
    argument = caffe2_pb2.Argument(name="values")
    if filler == "GivenTensorStringFill":
        argument.strings.extend(v.encode() if isinstance(v, str) else v for v in values)
    elif filler in ("GivenTensorFill", "GivenTensorDoubleFill"):
        argument.floats.extend(values)
    else:
        argument.ints.extend(int(value) for value in values)
    return argument
