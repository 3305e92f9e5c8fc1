"""Calls of operators refuse arguments of a wrong type, and take all that Caffe2's scripts give."""

import collections
import pathlib
import re
import warnings

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import brew, core, model_helper, workspace
from caffe2.python._core.argument_types import ACCEPTED, argument_rules, argument_type

_ROOT = pathlib.Path(__file__).resolve().parents[2]
_SCHEMAS = {key: C.OpSchema.get(key) for key in C.registered_operators()
            if "_ENGINE_" not in key and C.OpSchema.get(key) is not None}


def add(op_type, inputs="x", outputs="y", **arguments):
    return getattr(core.Net("n"), op_type)(inputs, outputs, **arguments)


_WRONG = [
    ("Conv", {"kernel": "x"}, "argument kernel is 'x', must be an integer$"),
    ("Conv", {"kernel": 3.5}, "argument kernel is 3.5, must be an integer$"),
    ("Conv", {"kernel": [3, 3]}, r"argument kernel is \[3, 3\], must be an integer$"),
    ("Conv", {"kernels": "33"}, "argument kernels is '33', must be a list of integers$"),
    ("Conv", {"kernels": [3.5, 3]}, r"kernels is \[3.5, 3.0\], must be a list of integers$"),
    ("Conv", {"kernel": 3, "pad_t": "1"}, "argument pad_t is '1', must be an integer$"),
    ("Conv", {"kernel": 3, "order": "NWHC"}, "argument order is 'NWHC', must be NCHW or NHWC$"),
    ("Conv", {"kernel": 3, "order": 1}, "argument order is 1, must be NCHW or NHWC$"),
    ("PadImage", {"mode": "wrap"}, "mode is 'wrap', must be constant, reflect or edge$"),
    ("Softmax", {"axis": 1.0}, "argument axis is 1.0, must be an integer$"),
    ("LeakyRelu", {"alpha": "0.1"}, "argument alpha is '0.1', must be a number$"),
    ("LeakyRelu", {"alpha": [0.1]}, r"argument alpha is \[0.1.*\], must be a number$"),
    ("SpatialBN", {"epsilon": core.BlobReference("e")}, "epsilon is 'e', must be a number$"),
    ("GaussianFill", {"shape": [1.5]}, r"shape is \[1.5\], must be a list of integers$"),
    ("CreateDB", {"db": 5, "db_type": "lmdb"}, "argument db is 5, must be a string$"),
    ("LearningRate", {"policy": 1, "base_lr": 0.1}, "argument policy is 1, must be a string$"),
    ("Reshape", {"shape": b"12"}, "argument shape is '12', must be a list of integers$"),
    ("If", {"then_net": 3}, "argument then_net is 3, must be a NetDef$"),
    ("Softmax", {"axis": "a" * 1000}, r"argument axis is .{1,90}, must be an integer$"),
]


@pytest.mark.parametrize("op_type, arguments, message", _WRONG)
def test_a_wrong_argument_is_refused_at_the_call(op_type, arguments, message):
    net = core.Net("n")
    with pytest.raises(ValueError, match=message) as error:
        getattr(net, op_type)("x", "y", **arguments)
    assert str(error.value).startswith(f"operator {op_type}")
    assert not net.Proto().op
    with pytest.raises(ValueError, match=message):
        core.CreateOperator(op_type, "x", "y", **arguments)


@pytest.mark.parametrize("op_type, arguments, message", [
    ("TopK", {}, r"operator TopK needs the argument k: \(int > 0\)"),
    ("If", {"else_net": caffe2_pb2.NetDef()}, "operator If needs the argument then_net: The net")])
def test_a_missing_argument_is_refused_when_a_net_gets_the_operator(op_type, arguments, message):
    net = core.Net("n")
    with pytest.raises(ValueError, match=message):
        getattr(net, op_type)("x", "y", **arguments)
    assert not net.Proto().op
    core.CreateOperator(op_type, "x", "y", **arguments)  # which scripts complete


def test_helpers_refuse_it_too():
    model = model_helper.ModelHelper("m")
    for arguments in ({"kernel": "x"}, {"kernel": 3, "stride": "2"}, {"kernel": [3, 1.5]}):
        with pytest.raises(ValueError, match="must be an integer"):
            brew.conv(model, "x", "y", 3, 4, **arguments)
    with pytest.raises(ValueError, match="argument kernel is 'a', must be an integer"):
        brew.max_pool(model, "x", "y", kernel="a")
    with pytest.raises(ValueError, match="order is 'NWHC'"):
        brew.max_pool(model, "x", "y", kernel=2, order="NWHC")


_GOOD = [
    ("Conv", {"kernel": np.int64(3), "pad": True, "stride": np.uint8(2)}),
    ("Conv", {"kernels": np.array([3, 3]), "pads": (1, 1, 1, 1), "strides": range(1, 3)}),
    ("Conv", {"kernels": 3}),
    ("Conv", {"kernels": map(int, "33")}),
    ("Conv", {"kernel": 3, "order": b"NHWC", "group": None}),
    ("Conv", {"kernel": 3, "order": core.BlobReference("NCHW")}),
    ("AveragePool", {"kernel": 3, "global_pooling": np.bool_(True)}),
    ("AveragePool", {"global_pooling": 1}),
    ("LeakyRelu", {"alpha": 1}),
    ("LeakyRelu", {"alpha": np.float16(0.5)}),
    ("LeakyRelu", {"alpha": np.float64(0.5)}),
    ("SpatialBN", {"is_test": False, "epsilon": np.int32(1)}),
    ("GivenTensorFill", {"shape": [], "values": [1]}),
    ("GivenTensorFill", {"shape": [2], "values": np.ones(2)}),
    ("ConstantFill", {"shape": 3, "value": "text", "dtype": core.DataType.STRING}),
    ("Cast", {"to": "float"}),
    ("Cast", {"to": core.DataType.FLOAT}),
    ("Softmax", {"order": "anything"}),  # which it does not read
    ("If", {"then_net": caffe2_pb2.NetDef()}),
    ("TopK", {"arg": [caffe2_pb2.Argument(name="k", i=2)]}),
]


@pytest.mark.parametrize("op_type, arguments", _GOOD)
def test_what_scripts_give_is_taken(op_type, arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", core.OperatorWarning)
        add(op_type, **arguments)


def test_an_argument_that_was_an_integer_still_counts_as_a_float():
    workspace.FeedBlob("x", np.array([-2.0], np.float32))
    workspace.RunOperatorOnce(core.CreateOperator("LeakyRelu", "x", "y", alpha=True))
    assert workspace.FetchBlob("y") == [-2.0]


# C++ types by which operators read arguments -> types of argument_types.
_CPP = {"int": "int", "int32_t": "int", "int64_t": "int", "uint64_t": "int", "bool": "bool",
        "float": "float", "double": "float", "std::string": "string", "NetDef": "net"}
# One name, read by templates or by several types.
_MIXED = {"min", "max", "scale"}


def _read_types():
    """{argument: the types by which the sources read it}."""
    found = collections.defaultdict(set)
    for folder in ("operators", "distributed", "caffe2", "db"):
        for path in (_ROOT / folder).rglob("*"):
            if path.suffix not in (".cc", ".h"):
                continue
            for kind, cpp, name in re.findall(
                    r'Get(Single|Repeated)Argument<\s*([\w:]+)\s*>\(\s*"(\w+)"', path.read_text()):
                plain = _CPP.get(cpp, cpp)
                found[name].add(plain if kind == "Single" else plain + "s")
    return found


def test_types_are_the_ones_that_operators_read():
    read = _read_types()
    assert len(read) > 300
    compared = 0
    for op_type, schema in _SCHEMAS.items():
        for argument in schema.args:
            kind = argument_type(argument.name, argument.description)
            types = read.get(argument.name, set())
            if kind is None or argument.name in _MIXED or not types:
                continue
            compared += 1
            fields = {field for each in types & ACCEPTED.keys() for field in ACCEPTED[each][0]}
            # Whatever an operator reads is accepted.
            assert fields & set(ACCEPTED[kind][0]), (op_type, argument.name, kind, types)
            if len(types) == 1:
                assert fields <= set(ACCEPTED[kind][0]), (op_type, argument.name, kind, types)
            elif len({ACCEPTED[each][0] for each in types & ACCEPTED.keys()}) > 1:
                # The sources do not say which operator reads which type: the description does.
                assert argument_type("", argument.description), (op_type, argument.name, types)
    assert compared > 1000


def test_nearly_all_arguments_have_a_type():
    arguments = [argument for schema in _SCHEMAS.values() for argument in schema.args]
    untyped = {argument.name for argument in arguments
               if argument_type(argument.name, argument.description) is None
               and not re.match("(Not read|Accepted|Of Caffe2|Without effect)|.*; not read",
                                argument.description)}
    # Types, which may be names or numbers, and values of the type that another argument names.
    assert untyped <= {"to", "from_type", "dtype", "key_dtype", "value_dtype", "field_types",
                       "output_type", "value", "values", "missing_value"}


def test_orders_are_known_where_an_operator_reads_them():
    for op_type in ("Conv", "MaxPool", "SpatialBN", "GroupNorm", "Concat", "ResizeNearest"):
        assert argument_rules(_SCHEMAS[op_type])["order"].choices == ("NCHW", "NHWC"), op_type
    assert "order" not in argument_rules(_SCHEMAS["Softmax"])
