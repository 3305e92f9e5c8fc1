"""Conversions between Python values, numpy arrays and messages."""

import collections.abc
import functools
import sys

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError, Message

from caffe2.proto import caffe2_pb2

_TensorProto = caffe2_pb2.TensorProto

# The blobs of BuildUniqueMutexIter unless others are named.
OPTIMIZER_ITERATION_NAME = "optimizer_iteration"
ITERATION_MUTEX_NAME = "iteration_mutex"

# What FeedBlob and FetchBlob use for bfloat16: the 16 bits.
bfloat16 = np.dtype([("bfloat16", "<u2")])

# DataType -> (numpy type, field of TensorProto)
_TENSOR_TYPES = {
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


def FloatToBFloat16(array):
    """float32 values rounded to nearest even, as an array of `bfloat16`."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    quiet = (bits >> 16) | 0x40
    return np.where(np.isnan(array), quiet, rounded).astype("<u2").view(bfloat16)


def BFloat16ToFloat(array):
    """The float32 values of an array of `bfloat16`."""
    return (array.view("<u2").astype(np.uint32) << 16).view(np.float32)


def numpy_type(data_type):
    """The numpy type of the elements of a DataType. Raises ValueError for strings and others that
    numpy has no number type for."""
    if data_type not in _TENSOR_TYPES:
        raise ValueError(f"numpy has no number type for the DataType {data_type}")
    return np.dtype(_TENSOR_TYPES[data_type][0])


def _holds_bits(data_type):
    return data_type in (_TensorProto.FLOAT16, _TensorProto.BFLOAT16)


def NumpyArrayToCaffe2Tensor(arr, name=None):
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
        tensor.string_data.extend(_as_bytes(item) for item in arr.ravel().tolist())
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


def Caffe2TensorToNumpyArray(tensor):
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


def CaffeBlobToNumpyArray(blob):
    """The elements of a Caffe BlobProto (num, channels, height, width, or shape)."""
    if blob.num or blob.channels or blob.height or blob.width:
        shape = (blob.num, blob.channels, blob.height, blob.width)
    else:
        shape = tuple(blob.shape.dim)
    return np.asarray(blob.data, np.float32).reshape(shape)


def _as_bytes(value):
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise TypeError(f"expected str or bytes, not {value!r}")


def _is_integer(value):
    return isinstance(value, (int, np.integer, np.bool_))


def _is_number(value):
    return _is_integer(value) or isinstance(value, (float, np.floating))


def _set_list(argument, values):
    """Sets the repeated field that fits all values; False if none does."""
    if all(_is_integer(value) for value in values):
        argument.ints.extend(int(value) for value in values)
    elif all(_is_number(value) for value in values):
        argument.floats.extend(float(value) for value in values)
    elif all(isinstance(value, (str, bytes)) or hasattr(value, "GetName") for value in values):
        argument.strings.extend(
            _as_bytes(value) if isinstance(value, (str, bytes)) else str(value).encode()
            for value in values)
    elif all(isinstance(value, caffe2_pb2.NetDef) for value in values):
        argument.nets.extend(values)
    elif all(isinstance(value, caffe2_pb2.TensorProto) for value in values):
        argument.tensors.extend(values)
    elif all(isinstance(value, Message) for value in values):
        argument.strings.extend(value.SerializeToString() for value in values)
    else:
        return False
    return True


def MakeArgument(key, value):
    """The Argument of an operator for a Python value.

    bool and integers go to `i`, floats to `f`, str, bytes and messages (serialized) to `s`, a
    NetDef to `n`, a TensorProto to `t`; lists, tuples, ranges and arrays to the repeated field
    that fits all elements.

    Raises ValueError, naming the argument, for anything else.
    """
    argument = caffe2_pb2.Argument()
    argument.name = key
    if isinstance(value, np.ndarray):
        value = value.ravel().tolist()
    if isinstance(value, str):
        argument.s = value.encode()
    elif isinstance(value, bytes):
        argument.s = value
    elif _is_integer(value):
        argument.i = int(value)
    elif _is_number(value):
        argument.f = float(value)
    elif isinstance(value, caffe2_pb2.NetDef):
        argument.n.CopyFrom(value)
    elif isinstance(value, caffe2_pb2.TensorProto):
        argument.t.CopyFrom(value)
    elif isinstance(value, Message):
        argument.s = value.SerializeToString()
    elif hasattr(value, "GetName"):  # a BlobReference
        argument.s = str(value).encode()
    elif (isinstance(value, collections.abc.Mapping)
          or not isinstance(value, collections.abc.Iterable)
          or not _set_list(argument, list(value))):
        raise ValueError(
            f"Unknown argument type: key={key} value={value!r}, value type={type(value)}")
    return argument


def GetArgFromArgument(argument):
    """The Python value of an Argument; None if it holds nothing."""
    for field in ("f", "i", "s", "n", "t"):
        if argument.HasField(field):
            return getattr(argument, field)
    for field in ("floats", "ints", "strings", "nets", "tensors"):
        if len(getattr(argument, field)):
            return list(getattr(argument, field))
    return None


def TryReadProtoWithClass(cls, s):
    """A message of class `cls` from its text or binary form (str or bytes).

    Raises DecodeError if it is neither.
    """
    message = cls()
    try:
        return text_format.Parse(s, message)
    except (text_format.ParseError, UnicodeDecodeError):
        message.Clear()
        message.ParseFromString(s if isinstance(s, bytes) else s.encode("latin-1"))
        return message


def TryReadProto(s, *classes):
    """The first of the classes that the text or bytes can be read as; raises DecodeError."""
    for cls in classes:
        try:
            return TryReadProtoWithClass(cls, s)
        except DecodeError:
            continue
    raise DecodeError("none of " + ", ".join(cls.__name__ for cls in classes))


def ConvertProtoToBinary(proto_class, filename, out_filename):
    """Reads a message in text form and writes it in binary form."""
    with open(filename, encoding="utf-8") as source:
        message = text_format.Parse(source.read(), proto_class())
    with open(out_filename, "wb") as target:
        target.write(message.SerializeToString())


def OpAlmostEqual(op_a, op_b, ignore_fields=None):
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


def ResetBlobs(blobs):
    """Empties the named blobs of the current workspace."""
    from caffe2.python import core, workspace

    for blob in blobs:
        workspace.RunOperatorOnce(core.CreateOperator("Free", [str(blob)], [str(blob)]))


def raiseIfNotEqual(a, b, msg):
    """Raises ValueError, with both values, unless a == b."""
    if a != b:
        raise ValueError(f"{msg}. {a!r} != {b!r}")


class DebugMode:
    """Whether functions marked with `debug` start the debugger when they fail."""

    _enabled = False

    @classmethod
    def enable(cls):
        """From now on `run` starts a debugger on errors."""
        cls._enabled = True

    @classmethod
    def disable(cls):
        """From now on `run` passes errors on."""
        cls._enabled = False

    @classmethod
    def run(cls, func):
        """Calls a function; on an error starts a debugger, if enabled, or passes it on."""
        try:
            return func()
        except KeyboardInterrupt:
            raise
        except Exception:
            if cls._enabled:
                import pdb

                print("Entering interactive debugger. Type 'bt' to print the stack trace.",
                      file=sys.stderr)
                pdb.post_mortem()
            raise


def debug(f):
    """Decorator: a failure of the function starts the debugger if DebugMode is enabled."""

    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return DebugMode.run(lambda: f(*args, **kwargs))

    return wrapper


def BuildUniqueMutexIter(init_net, net, iter=None, iter_mutex=None, iter_val=0):
    """The int64 counter of a training net and its mutex, on the CPU, counted up by each run;
    made once per net. Returns the counter's BlobReference."""
    from caffe2.python import core

    iter = iter if iter is not None else OPTIMIZER_ITERATION_NAME
    iter_mutex = iter_mutex if iter_mutex is not None else ITERATION_MUTEX_NAME
    counter, mutex = core.BlobReference(str(iter)), core.BlobReference(str(iter_mutex))
    cpu = core.DeviceOption(caffe2_pb2.CPU, extra_info=["device_type_override:cpu"])
    with core.DeviceScope(cpu):
        if not init_net.BlobIsDefined(counter):
            init_net.ConstantFill([], counter, shape=[1], value=iter_val,
                                  dtype=core.DataType.INT64)
            init_net.CreateMutex([], mutex)
        if str(counter) not in net._op_outputs:
            net.AtomicIter([mutex, counter], counter)
    return core.BlobReference(str(counter), net)


def NHWC2NCHW(tensor):
    """An array [N, ..., C] as [N, C, ...], a view."""
    if tensor.ndim < 1:
        raise ValueError("a scalar has no channels")
    return np.moveaxis(tensor, -1, 1) if tensor.ndim > 1 else tensor


def NCHW2NHWC(tensor):
    """An array [N, C, ...] as [N, ..., C], a view."""
    if tensor.ndim < 2:
        raise ValueError(f"an array of shape {tensor.shape} has no channels")
    return np.moveaxis(tensor, 1, -1)


def GetContentFromProto(obj, function_map):
    """function(message) of the first type of `function_map`, {message class: function}, that the
    message has; None if it has none."""
    for cls, function in function_map.items():
        if isinstance(obj, cls):
            return function(obj)
    return None


def GetContentFromProtoString(s, function_map):
    """function(message) of the first type of `function_map`, {message class: function}, that the
    text or bytes `s` can be read as; raises DecodeError."""
    for cls, function in function_map.items():
        try:
            message = TryReadProtoWithClass(cls, s)
        except DecodeError:
            continue
        return function(message)
    raise DecodeError("none of " + ", ".join(cls.__name__ for cls in function_map))


def GetGPUMemoryUsageStats():
    """Raises RuntimeError: memory is not counted for each GPU, as Caffe2 does with
    --caffe2_gpu_memory_tracking. workspace.GetGPUMemoryInfo asks the driver."""
    raise RuntimeError("GPU memory is not tracked (there is no operator GetGPUMemoryUsage); "
                       "workspace.GetGPUMemoryInfo tells what is free")


def EnumClassKeyVals(cls):
    """{name: value} of the public attributes of a class."""
    return {name: value for name, value in vars(cls).items() if not name.startswith("_")}


def ArgsToDict(args):
    """{name: value} of Arguments."""
    return {argument.name: GetArgFromArgument(argument) for argument in args}
