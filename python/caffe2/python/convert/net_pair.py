"""Models as an init net and a predict net, each a NetDef in a file: binary, or text in a .pbtxt.

The predict net holds Model.info as string arguments, whose names start with "application_info/".
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re

import numpy as np
from google.protobuf import text_format
from google.protobuf.message import DecodeError

from caffe2.proto import caffe2_pb2
from caffe2.python._core.feeding import Int8Tensor
from caffe2.python._core.messages import TryReadProtoWithClass
from caffe2.python.convert.errors import NO_INPUT, USAGE, ConvertError
from caffe2.python.convert.files import made_folder, read_bytes, whole_file
from caffe2.python.convert.model import Model, model_of_nets
from caffe2.python.onnx.helper import fill_operator

_NAMES = ("init_net.pb", "predict_net.pb")
_INFO = "application_info/"  # as in LoadNets


def paths_of(path: str) -> tuple[str, str]:
    """(init net, predict net) of "init.pb,predict.pb", or of a folder. Raises ConvertError."""
    names = path.split(",")
    if len(names) == 1:
        return os.path.join(path, _NAMES[0]), os.path.join(path, _NAMES[1])
    if len(names) != 2 or not all(names):
        raise ConvertError(f"{path}: two nets are named as init_net.pb,predict_net.pb", USAGE)
    return names[0], names[1]


def check_endings(path: str) -> None:
    """Raises ConvertError if two nets to write do not both end in .pb or .pbtxt."""
    for name in paths_of(path):
        if os.path.splitext(name)[1].lower() not in (".pb", ".pbtxt"):
            raise ConvertError(
                f"{path} would be two nets, and {name} does not end in .pb (binary) or .pbtxt "
                "(text): name them as init_net.pb,predict_net.pb", USAGE)


def _read_net(path):
    try:
        net = TryReadProtoWithClass(caffe2_pb2.NetDef, read_bytes(path))
    except (DecodeError, UnicodeDecodeError) as error:
        raise ConvertError(f"{path} is not a NetDef, is damaged, or has more than 100 levels of "
                           "messages") from error
    if not net.op and not net.name:
        raise ConvertError(f"{path} is not a NetDef, or has no operators")
    return net


def _take_info(net):
    """Removes Model.info from a predict net, and returns it."""
    is_info = [arg.name.startswith(_INFO) and arg.HasField("s") for arg in net.arg]
    arguments = list(net.arg)
    del net.arg[:]
    net.arg.extend(arg for arg, info in zip(arguments, is_info) if not info)
    return {arg.name[len(_INFO):]: arg.s.decode(errors="replace")
            for arg, info in zip(arguments, is_info) if info}


def _described(model, info):
    """The model with its info. Its images give the shape of the input, which nets do not hold."""
    shapes = dict(model.shapes)
    sizes = [info.get(key, "") for key in ("image_size", "num_channels")]
    if len(model.inputs) == 1 and not shapes and all(
            re.fullmatch("[1-9][0-9]{0,5}", size) for size in sizes):
        side, channels = map(int, sizes)
        last = info.get("order") == "NHWC"
        shapes[model.inputs[0]] = [0, side, side, channels] if last else [0, channels, side, side]
    return dataclasses.replace(model, info=info, shapes=shapes)


def _with_info(model):
    """The predict net, with Model.info."""
    net = caffe2_pb2.NetDef.FromString(model.net.SerializeToString())
    for key, value in model.info.items():
        net.arg.add(name=_INFO + key, s=value.encode())
    return net


def read(path: str) -> Model:
    """The model of two nets: "init.pb,predict.pb", or a folder with init_net.pb and
    predict_net.pb. Raises ConvertError."""
    init, predict = paths_of(path)
    if "," not in path and not os.path.isdir(path):
        raise ConvertError(f"cannot read {path}: there is no such file or folder", NO_INPUT)
    predict_net = _read_net(predict)
    info = _take_info(predict_net)
    return _described(model_of_nets(_read_net(init), predict_net, init, predict), info)


def read_predict_net(path: str) -> Model:
    """The model of a predict net alone, without parameters. For its input see model_of_nets. Raises
    ConvertError."""
    net = _read_net(path)
    info = _take_info(net)
    return _described(model_of_nets(None, net, "", path), info)


def _fill_int8(value, name):
    levels = value.data.dtype == np.uint8
    op = caffe2_pb2.OperatorDef(
        type="Int8GivenTensorFill" if levels else "Int8GivenIntTensorFill", output=[name]
    )
    op.arg.add(name="shape", ints=value.data.shape)
    op.arg.add(name="Y_scale", f=value.scale)
    op.arg.add(name="Y_zero_point", i=value.zero_point)
    if levels:
        op.arg.add(name="values", s=value.data.tobytes())
    else:
        op.arg.add(name="values", ints=value.data.ravel().tolist())
    return op


def _with_values(type, name, value, **argument):
    op = caffe2_pb2.OperatorDef(type=type, output=[name])
    op.arg.add(name="shape", ints=value.shape)
    op.arg.add(name="values", **argument)
    return op


def _fill_exactly(value, name):
    """The operator that makes an array with its own element type. Raises TypeError if there is
    none."""
    if value.dtype == np.float16:
        op = _with_values("GivenTensorFill", name, value, floats=value.ravel().tolist())
        op.arg.add(name="dtype", i=caffe2_pb2.TensorProto.FLOAT16)
        return op
    if value.dtype == np.int16:
        return _with_values("GivenTensorInt16Fill", name, value, ints=value.ravel().tolist())
    if value.dtype == np.uint8:
        return _with_values("GivenTensorByteStringToUInt8Fill", name, value,
                            strings=[value.tobytes()])
    if value.dtype == np.float64:
        with np.errstate(over="ignore"):
            is_float = np.array_equal(value, value.astype(np.float32), equal_nan=True)
        if not is_float:
            raise TypeError("its float64 values need more digits than a net stores")
    elif value.dtype.kind in "iuf" and value.dtype not in (np.float32, np.int32, np.int64):
        raise TypeError(f"no operator makes elements of the type {value.dtype}")
    return fill_operator(value, name)


def init_net_of(model: Model) -> caffe2_pb2.NetDef:
    """The net that makes the parameters. Raises ConvertError."""
    init = caffe2_pb2.NetDef(name=f"{model.net.name}_init")
    for name, value in model.values.items():
        if isinstance(value, Int8Tensor):
            init.op.append(_fill_int8(value, name))
            continue
        try:
            init.op.append(_fill_exactly(value, name))
        except TypeError as error:
            raise ConvertError(f"no net can make the parameter {name}: {error}") from error
    init.external_output[:] = list(model.values)
    return init


def write(model: Model, path: str) -> None:
    """Writes both nets; a folder is made. Raises ConvertError, and leaves nothing half-written."""
    init = init_net_of(model)
    init_path, predict_path = paths_of(path)
    with contextlib.ExitStack() as stack:
        if "," not in path:
            stack.enter_context(made_folder(path))
        for name, net in ((init_path, init), (predict_path, _with_info(model))):
            temporary = stack.enter_context(whole_file(name))
            text = name.lower().endswith(".pbtxt")
            with open(temporary, "wb") as file:
                file.write(text_format.MessageToString(net).encode() if text
                           else net.SerializeToString())
