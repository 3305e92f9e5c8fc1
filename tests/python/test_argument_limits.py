"""Calls of operators refuse values beyond the limits that the schemas state."""

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import brew, core, model_helper, utils, workspace
from caffe2.python._core.argument_limits import limits_of

_STRING = core.DataType.STRING
# Operator, arguments that it takes, and others that it does not, with what the error says.
_LIMITS = [
    ("Dropout", {"ratio": 0}, {"ratio": 1.1}, r"ratio is 1.1, must be in \[0, 1\)"),
    ("Dropout", {"ratio": 0.999}, {"ratio": 1}, r"ratio is 1, must be in \[0, 1\)"),
    ("Dropout", {"ratio": 0.5}, {"ratio": -0.1}, r"ratio is -0.1, must be in \[0, 1\)"),
    ("Dropout", {"ratio": 0.5}, {"ratio": float("nan")}, "ratio is nan, must be in"),
    ("LRN", {"size": 5}, {"size": 4}, "size is 4, must be odd and > 0"),
    ("LRN", {"size": 1}, {"size": -1}, "size is -1, must be odd and > 0"),
    ("TopK", {"k": 1}, {"k": 0}, "k is 0, must be > 0"),
    ("Tile", {"tiles": 0}, {"tiles": -1}, "tiles is -1, must be >= 0"),
    ("Clip", {"min": 1.0, "max": 1.0}, {"min": 2.0, "max": 1.0},
     r"min is 2.0, must be <= max \(max is 1.0\)"),
    ("Clip", {"min": 2.0}, {"min": 0.5, "max": -1}, r"must be <= max \(max is -1\)"),
    ("UniformFill", {"min": 0.0, "max": 1.0}, {"min": 1.0, "max": 0.0},
     "min is 1.0, must be <= max"),
    ("GaussianFill", {"std": 0.0}, {"std": -1.0}, "std is -1.0, must be >= 0"),
    ("ConstantFill", {"shape": [0, 2]}, {"shape": [2, -1]},
     r"shape is \[2, -1\], must each be >= 0"),
    ("ExpandDims", {"dims": [0]}, {"dims": [-1]}, r"dims is \[-1\], must each be >= 0"),
    ("Mod", {"divisor": -1}, {"divisor": 0}, "divisor is 0, must not be 0"),
    ("StringJoin", {"axis": 1}, {"axis": 2}, "axis is 2, must be 0 or 1"),
    ("BBoxTransform", {"weights": [1.0] * 4}, {"weights": [1.0] * 3}, "must be 4 numbers"),
    ("Logit", {"eps": 0.1}, {"eps": 0.5}, r"eps is 0.5, must be in \(0, 0.5\)"),
    ("Int8Quantize", {"Y_scale": 0.1, "Y_zero_point": 255}, {"Y_scale": 0.1, "Y_zero_point": 256},
     "Y_zero_point is 256, must be 0 to 255"),
    ("ConstantFill", {"value": 1}, {"value": "a"}, "value is 'a', must be of type dtype$"),
    ("ConstantFill", {"value": "a", "dtype": _STRING}, {"value": 1, "dtype": _STRING},
     r"value is 1, must be of type dtype \(dtype is STRING\)"),
    ("ConstantFill", {"value": 1, "dtype": "int32"}, {"value": 1.5, "dtype": "int32"},
     r"value is 1.5, must be of type dtype \(dtype is int32\)"),
    ("ConstantFill", {"value": True, "dtype": core.DataType.BOOL},
     {"value": 0.5, "dtype": core.DataType.BOOL}, "dtype is BOOL"),
    ("GivenTensorFill", {"values": [1, 2], "shape": [2]}, {"values": ["a"], "shape": [1]},
     "values is .*, must be of type dtype"),
    ("LearningRate", {"policy": "fixed", "base_lr": 1.0, "stepsize": 0},
     {"policy": "step", "base_lr": 1.0, "stepsize": 0},
     r"stepsize is 0, must be > 0 if policy is step \(policy is step\)"),
    ("LearningRate", {"policy": "slope", "base_lr": 1.0, "num_iter_1": 1, "num_iter_2": 2},
     {"policy": "slope", "base_lr": 1.0, "num_iter_1": 2, "num_iter_2": 2},
     "num_iter_2 is 2, must be > num_iter_1 if policy is slope"),
    ("SpatialBNFinalize", {"epsilon": 0}, {"epsilon": -1e-5}, "epsilon is -1e-05, must be >= 0"),
    ("SpatialBNFinalize", {"momentum": 1}, {"momentum": 1.5}, "must be from 0 to 1"),
    ("Conv", {"kernel": 3, "group": 2}, {"kernel": 3, "group": 0}, "group is 0, must be > 0"),
    ("MaxPool", {"kernel": 3, "legacy_pad": 3}, {"kernel": 3, "legacy_pad": 4},
     "legacy_pad is 4, must be 0 to 3"),
    ("Int8LeakyRelu", {"alpha": 0.5}, {"alpha": 1}, r"alpha is 1, must be in \(0, 1\)"),
    ("Int8FC", {"W_scales": [0.1, 0.2]}, {"W_scales": [0.1, 0.0]}, "W_scales is .* each be > 0"),
    ("LpNorm", {"p": 1}, {"p": 3}, "p is 3, must be 1 or 2"),
    ("FloatToFusedRandRowwiseQuantized", {"bitwidth": 4}, {"bitwidth": 3},
     "bitwidth is 3, must be 1, 2, 4 or 8"),
    ("LearningRate", {"policy": "fixed", "base_lr": 1.0, "num_iter": -1},
     {"policy": "hill", "base_lr": 1.0, "num_iter": -1}, "num_iter is -1, must be >= 0"),
]


@pytest.mark.parametrize("op_type, good, bad, message", _LIMITS)
def test_a_value_beyond_its_limits_is_refused_at_the_call(op_type, good, bad, message):
    core.CreateOperator(op_type, "x", "y", **good)
    net = core.Net("n")
    with pytest.raises(ValueError, match=message) as error:
        getattr(net, op_type)("x", "y", **bad)
    assert str(error.value).startswith(f"operator {op_type}: argument ")
    assert not net.Proto().op
    with pytest.raises(ValueError, match=message):
        core.CreateOperator(op_type, "x", "y", **bad)


def test_helpers_refuse_it_too():
    model = model_helper.ModelHelper("m")
    with pytest.raises(ValueError, match="argument k is 0, must be > 0"):
        model.net.TopK("x", ["y", "i"], k=0)
    with pytest.raises(ValueError, match="argument size is 4, must be odd and > 0"):
        brew.lrn(model, "x", "y", size=4, alpha=1e-4, beta=0.75)


def _arguments():
    """(operator, argument) of all schemas."""
    schemas = (C.OpSchema.get(key) for key in sorted(C.registered_operators())
               if "_ENGINE_" not in key)
    return [(schema.type, arg) for schema in schemas if schema is not None for arg in schema.args]


# What stands before a description and states no limit that a call checks.
_OTHER = {"Histogram bin_edges"}


def test_all_limits_in_schemas_are_understood():
    understood = 0
    for op_type, arg in _arguments():
        limits = limits_of(arg.description)
        understood += limits is not None
        if arg.description.startswith("(") and not arg.description.startswith("(default"):
            assert limits is not None or f"{op_type} {arg.name}" in _OTHER, (
                f"{op_type} {arg.name}: {arg.description}")
    assert understood > 230


def test_limits_name_arguments_of_their_operator():
    names = {}
    for op_type, arg in _arguments():
        names.setdefault(op_type, set()).add(arg.name)
    for op_type, arg in _arguments():
        limits = limits_of(arg.description)
        for word in ("max", "num_iter_1", "policy", "dtype"):
            if limits is not None and word in limits.text.split():
                assert word in names[op_type], f"{op_type} {arg.name}: {arg.description}"


@pytest.mark.parametrize("op_type, arguments, outputs", [
    ("Dropout", {"ratio": 1.0}, ["y"]), ("LRN", {"size": 2, "alpha": 1.0, "beta": 1.0}, ["y"]),
    ("TopK", {"k": 0}, ["y", "i"]), ("Clip", {"min": 1.0, "max": 0.0}, ["y"]),
    ("GaussianFill", {"std": -1.0}, ["y"]),
    ("ExpandDims", {"dims": [-1]}, ["y"]), ("ChannelShuffle", {"group": 0}, ["y"]),
    ("ReluN", {"n": 0.0}, ["y"]), ("Print", {"every_n": 0}, []),
    ("ConstantFill", {"value": 1.5, "dtype": core.DataType.INT32}, ["y"])])
def test_the_library_refuses_the_same(op_type, arguments, outputs):
    workspace.ResetWorkspace()
    workspace.FeedBlob("x", np.ones((2, 2, 2, 2), np.float32))
    op = caffe2_pb2.OperatorDef(type=op_type, input=["x"], output=outputs)
    op.arg.extend(utils.MakeArgument(name, value) for name, value in arguments.items())
    with pytest.raises(RuntimeError, match=next(iter(arguments))):
        workspace.CreateNet(caffe2_pb2.NetDef(name="refused", op=[op]))


def test_windows_keep_their_own_check():
    with pytest.raises(ValueError, match="argument kernel is -1, must be at least 1"):
        core.Net("n").MaxPool("x", "y", kernel=-1)
