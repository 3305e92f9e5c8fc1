"""Calls of operators with a window refuse one that cannot be, and take all that operators take."""

import numpy as np
import pytest

from caffe2.python import _import_c_extension as C
from caffe2.python import brew, core, model_helper, utils, workspace

_WINDOWED = sorted(
    key for key in C.registered_operators() if "_ENGINE_" not in key
    and any(argument.name == "kernel" and argument.type == "int"
            for argument in getattr(C.OpSchema.get(key), "args", ())))


def _blobs(op_type):
    schema = C.OpSchema.get(op_type)
    return ([f"x{i}" for i in range(schema.min_input)], [f"y{i}" for i in range(schema.min_output)])


def _refused(op_type, message, **arguments):
    net = core.Net("n")
    with pytest.raises(ValueError, match=f"^operator {op_type}.*{message}"):
        getattr(net, op_type)(*_blobs(op_type), **arguments)
    assert not net.Proto().op and not net.Proto().external_input


def test_all_windows_are_known():
    for op_type in ("Conv", "Conv2DGradient", "ConvTranspose", "LC", "Im2Col", "MaxPool", "LpPool",
                    "AveragePoolGradient", "Int8Conv", "Int8MaxPool", "ConvStats"):
        assert op_type in _WINDOWED
    assert "ChannelShuffle" not in _WINDOWED  # has a kernel without effect


@pytest.mark.parametrize("op_type", _WINDOWED)
def test_an_operator_with_a_window_needs_a_kernel(op_type):
    for arguments in ({}, {"kernel": None}, {"kernels": []}, {"stride": 2, "pad": 1},
                      {"kernels": [], "kernel": 3}):
        _refused(op_type, "needs the argument kernel", **arguments)
    _refused(op_type, "argument kernel_h and needs kernel_w", kernel_h=3)
    _refused(op_type, "argument kernel_w and needs kernel_h", kernel_w=3, kernel=3)
    for arguments in ({"kernel": 3}, {"kernels": [3, 3]}, {"kernels": 3},
                      {"kernel_h": 3, "kernel_w": 1}):
        getattr(core.Net("n"), op_type)(*_blobs(op_type), **arguments)
    core.CreateOperator(op_type, *_blobs(op_type))  # which scripts complete


_OUT_OF_RANGE = [
    ({"kernel": -1}, "argument kernel is -1, must be at least 1"),
    ({"kernel": 0}, "argument kernel is 0"),
    ({"kernels": [3, 0]}, r"argument kernels is \[3, 0\], must be at least 1"),
    ({"kernel_h": 3, "kernel_w": 0}, "argument kernel_w is 0"),
    ({"kernel": 3, "stride": 0}, "argument stride is 0, must be at least 1"),
    ({"kernel": 3, "stride_h": 1, "stride_w": -1}, "argument stride_w is -1"),
    ({"kernel": 3, "dilations": [0, 1]}, r"argument dilations is \[0, 1\]"),
    ({"kernel": 3, "pad": -1}, "argument pad is -1, must be at least 0"),
    ({"kernel": 3, "pad_b": -1}, "argument pad_b is -1, must be at least 0"),
    # Some schemas state this limit, and the check of windows knows it for the others.
    ({"kernel": 3, "group": 0}, "argument group is 0, must be (> 0|at least 1)"),
]


@pytest.mark.parametrize("arguments, message", _OUT_OF_RANGE)
def test_a_window_that_cannot_be_is_refused_at_the_call(arguments, message):
    for op_type in ("Conv", "ConvGradient", "ConvTranspose", "Int8Conv"):
        _refused(op_type, message, **arguments)
    if "group" not in arguments:
        for op_type in ("MaxPool", "AveragePool2DGradient", "Im2Col"):
            _refused(op_type, message, **arguments)
    # The operators themselves agree.
    workspace.FeedBlob("x0", np.ones((1, 1, 8, 8), np.float32))
    workspace.FeedBlob("x1", np.ones((1, 1, 3, 3), np.float32))
    operator = core.CreateOperator("Conv", ["x0", "x1"], ["y0"])
    operator.arg.extend(utils.MakeArgument(*each) for each in arguments.items())
    with pytest.raises(RuntimeError, match="must be"):
        workspace.RunOperatorOnce(operator)


# What the operators take, and do not read.
_TAKEN = [
    {"kernels": [3, 3], "kernel": 0},
    {"kernel_h": 3, "kernel_w": 3, "kernel": -1},
    {"kernel": 3, "strides": [1, 1], "stride": 0},
    {"kernel": 3, "strides": [], "stride": 0},
    {"kernel": 3, "stride_h": 2},
    {"kernel": 3, "pad": 1, "pad_t": -1},
    {"kernel": 3, "pads": [1, 1, 1, 1], "pad": -1},
    {"kernel": True},
]


@pytest.mark.parametrize("arguments", _TAKEN)
def test_a_window_that_operators_take_is_taken(arguments):
    workspace.FeedBlob("x", np.ones((1, 1, 8, 8), np.float32))
    net = core.Net("n")
    net.MaxPool("x", "y", **arguments)
    workspace.RunNetOnce(net)


def test_a_pool_may_take_the_whole_image():
    workspace.FeedBlob("x", np.arange(64, dtype=np.float32).reshape(1, 1, 8, 8))
    for arguments in ({}, {"kernel": 0}, {"kernel_h": 3}, {"kernels": []}):
        net = core.Net("n")
        net.MaxPool("x", "y", global_pooling=1, **arguments)
        workspace.RunNetOnce(net)
        assert workspace.FetchBlob("y").ravel() == [63]
    _refused("MaxPool", "kernel_h and kernel_w, or global_pooling=1", global_pooling=0)
    _refused("Conv", "kernel_h and kernel_w.$")


def test_helpers_refuse_it_too():
    model = model_helper.ModelHelper("m")
    for call in (lambda: brew.max_pool(model, "x", "y"),
                 lambda: brew.average_pool(model, "x", "y", stride=2),
                 lambda: brew.max_pool(model, "x", "y", kernel=None)):
        with pytest.raises(ValueError, match="Pool needs the argument kernel"):
            call()
    with pytest.raises(ValueError, match="conv: kernel is None, must be an integer"):
        brew.conv(model, "x", "y", 3, 4, None)
    with pytest.raises(ValueError, match="Conv: argument group is 0"):
        model.Conv(["x", "w"], "y", kernel=3, group=0)
    assert not model.net.Proto().op and not model.params
