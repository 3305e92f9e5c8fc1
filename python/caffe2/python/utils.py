"""Conversions between Python values, numpy arrays and messages."""

from __future__ import annotations

import functools
import pdb
import sys
from collections.abc import Callable, Iterable
from typing import Any, NoReturn, TypeVar

import numpy as np
from google.protobuf.message import DecodeError

from caffe2.proto import caffe2_pb2
from caffe2.python import scope
from caffe2.python._core.arguments import ArgsToDict, GetArgFromArgument, MakeArgument
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.blobs import ResetBlobs
from caffe2.python._core.device_option import DeviceOption
from caffe2.python._core.messages import (
    ConvertProtoToBinary,
    GetContentFromProto,
    GetContentFromProtoString,
    TryReadProto,
    TryReadProtoWithClass,
)
from caffe2.python._core.tensors import (
    BFloat16ToFloat,
    Caffe2TensorToNumpyArray,
    CaffeBlobToNumpyArray,
    FloatToBFloat16,
    NumpyArrayToCaffe2Tensor,
    bfloat16,
    numpy_type,
)

__all__ = [
    "ArgsToDict", "BFloat16ToFloat", "BuildUniqueMutexIter", "Caffe2TensorToNumpyArray",
    "CaffeBlobToNumpyArray", "ConvertProtoToBinary", "DebugMode", "DecodeError",
    "EnumClassKeyVals", "FloatToBFloat16", "GetArgFromArgument", "GetContentFromProto",
    "GetContentFromProtoString", "GetGPUMemoryUsageStats", "ITERATION_MUTEX_NAME", "MakeArgument",
    "NCHW2NHWC", "NHWC2NCHW", "NumpyArrayToCaffe2Tensor", "OPTIMIZER_ITERATION_NAME",
    "OpAlmostEqual", "ResetBlobs", "TryReadProto", "TryReadProtoWithClass", "bfloat16", "debug",
    "numpy_type", "raiseIfNotEqual",
]

_T = TypeVar("_T")

# The default blobs of BuildUniqueMutexIter.
OPTIMIZER_ITERATION_NAME = "optimizer_iteration"
ITERATION_MUTEX_NAME = "iteration_mutex"


def OpAlmostEqual(op_a: caffe2_pb2.OperatorDef, op_b: caffe2_pb2.OperatorDef,
                  ignore_fields: str | Iterable[str] | None = None) -> bool:
    """True if two OperatorDefs differ at most in the named fields and the order of arguments."""
    copies = []
    for op in (op_a, op_b):
        copy = type(op)()
        copy.CopyFrom(op)
        for field in [ignore_fields] if isinstance(ignore_fields, str) else ignore_fields or ():
            copy.ClearField(field)
        arguments = sorted(copy.arg, key=lambda argument: argument.name)
        copy.ClearField("arg")
        copy.arg.extend(arguments)
        copies.append(copy)
    return copies[0] == copies[1]


def raiseIfNotEqual(a: Any, b: Any, msg: str) -> None:
    """Raises ValueError, with both values, unless a == b."""
    if a != b:
        raise ValueError(f"{msg}. {a!r} != {b!r}")


class DebugMode:
    """A switch. If enabled, functions marked with `debug` start the debugger when they fail."""

    _enabled = False

    @classmethod
    def enable(cls) -> None:
        """From now on `run` starts a debugger on errors."""
        cls._enabled = True

    @classmethod
    def disable(cls) -> None:
        """From now on `run` lets errors pass."""
        cls._enabled = False

    @classmethod
    def run(cls, func: Callable[[], _T]) -> _T:
        """Calls a function. If it fails, starts a debugger, if that is enabled, or lets the error
        pass."""
        try:
            return func()
        except KeyboardInterrupt:
            raise
        except Exception:
            if cls._enabled:
                print("Entering interactive debugger. Type 'bt' to print the stack trace.",
                      file=sys.stderr)
                pdb.post_mortem()
            raise


def debug(f: Callable[..., _T]) -> Callable[..., _T]:
    """Decorator: a failure of the function starts the debugger if DebugMode is enabled."""

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return DebugMode.run(lambda: f(*args, **kwargs))

    return wrapper


def BuildUniqueMutexIter(init_net: Any, net: Any, iter: BlobLike | None = None,
                         iter_mutex: BlobLike | None = None, iter_val: int = 0) -> BlobReference:
    """Adds an int64 counter and its mutex, on the CPU, once per net. Each run of the net adds 1 to
    the counter. Returns the counter's BlobReference."""
    iter = iter if iter is not None else OPTIMIZER_ITERATION_NAME
    iter_mutex = iter_mutex if iter_mutex is not None else ITERATION_MUTEX_NAME
    counter, mutex = BlobReference(str(iter)), BlobReference(str(iter_mutex))
    cpu = DeviceOption(caffe2_pb2.CPU, extra_info=["device_type_override:cpu"])
    with scope.DeviceScope(cpu):
        if not init_net.BlobIsDefined(counter):
            init_net.ConstantFill([], counter, shape=[1], value=iter_val,
                                  dtype=caffe2_pb2.TensorProto.INT64)
            init_net.CreateMutex([], mutex)
        if str(counter) not in net._op_outputs:
            net.AtomicIter([mutex, counter], counter)
    return BlobReference(str(counter), net)


def NHWC2NCHW(tensor: np.ndarray) -> np.ndarray:
    """An array [N, ..., C] as [N, C, ...], a view."""
    if tensor.ndim < 1:
        raise ValueError("a scalar has no channels")
    return np.moveaxis(tensor, -1, 1) if tensor.ndim > 1 else tensor


def NCHW2NHWC(tensor: np.ndarray) -> np.ndarray:
    """An array [N, C, ...] as [N, ..., C], a view."""
    if tensor.ndim < 2:
        raise ValueError(f"an array of shape {tensor.shape} has no channels")
    return np.moveaxis(tensor, 1, -1)


def GetGPUMemoryUsageStats() -> NoReturn:
    """Raises RuntimeError: memory is not counted for each GPU, as Caffe2's
    --caffe2_gpu_memory_tracking does. Use workspace.GetGPUMemoryInfo, which asks the driver."""
    raise RuntimeError("GPU memory is not tracked (there is no operator GetGPUMemoryUsage); "
                       "workspace.GetGPUMemoryInfo returns the free memory")


def EnumClassKeyVals(cls: type) -> dict[str, Any]:
    """{name: value} of the public attributes of a class."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}
