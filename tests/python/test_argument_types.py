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
from caffe2.python._core.argument_types import ACCEPTED, argument_rules

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
    ("LearningRate", {"policy": 1, "base_lr": 0.1}, "policy is 1, must be alter, .* or step$"),
    ("Reshape", {"shape": b"12"}, "argument shape is '12', must be a list of integers$"),
    ("If", {"then_net": 3}, "argument then_net is 3, must be a NetDef$"),
    ("Cast", {"to": 1.5}, "argument to is 1.5, must be a data type$"),
    ("GivenTensorIntFill", {"values": [1.5]}, r"values is \[1.5\], must be a list of integers$"),
    ("GivenTensorFill", {"values": [1], "dtype": [1]}, r"dtype is \[1\], must be a data type$"),
    ("SpaceToBatch", {"order": "NHWC"}, "argument order is 'NHWC', must be NCHW$"),
    ("PReluGradient", {"order": "CHWN"}, "argument order is 'CHWN', must be NCHW or NHWC$"),
    ("BoxWithNMSLimit", {"soft_nms_method": "cubic"}, "is 'cubic', must be linear or gaussian$"),
    ("Cast", {"to": np.float32}, "to is <class .*float32.>, must be .*: core.DataType.FLOAT$"),
    ("Cast", {"to": np.dtype("i8")}, r"to is dtype\('int64'\), .*: core.DataType.INT64$"),
    ("Cast", {"to": "float32"}, "to is 'float32', must be a data type: core.DataType.FLOAT$"),
    ("Cast", {"to": bool}, "to is <class 'bool'>, must be a data type: core.DataType.BOOL$"),
    ("Cast", {"to": "floot"}, 'a data type, such as core.DataType.FLOAT or "float"$'),
    ("Cast", {"to": 99}, "argument to is 99, must be a data type$"),
    ("ConstantFill", {"dtype": np.float64}, "must be a data type: core.DataType.DOUBLE$"),
    ("Reshape", {"shape": [None, 3]}, r"shape is \[None, 3\], must be a list of integers$"),
    ("Reshape", {"shape": [1, "a"]}, r"shape is \[1, 'a'\], must be a list of integers$"),
    ("Softmax", {"axis": len}, "axis is <built-in function len>, must be an integer$"),
    ("Softmax", {"axis": {1: 2}}, r"axis is \{1: 2\}, must be an integer$"),
    ("LeakyRelu", {"alpha": 1j}, "alpha is 1j, must be a number$"),
    ("Softmax", {"axis": 2**64}, "axis is 18446744073709551616, must be a number of 64 bits$"),
    ("ConstantFill", {"value": [None]}, r"value is \[None\], must be a number, a string, a "),
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
    ("TopK", {}, r"operator TopK needs the argument k: \(int, > 0\) The"),
    ("If", {"else_net": caffe2_pb2.NetDef()}, r"If needs the argument then_net: \(net\) The net")])
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
    ("Cast", {"to": "Int64"}),
    ("Cast", {"to": b"bool"}),
    ("Cast", {"to": np.int64(core.DataType.INT64)}),
    ("Cast", {"to": core.DataType.FLOAT, "from_type": 0}),
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


# C++ types by which operators read arguments -> types in schemas.
_CPP = {"int": "int", "int32_t": "int", "int64_t": "int", "uint64_t": "int", "bool": "bool",
        "float": "float", "double": "float", "std::string": "string", "NetDef": "net"}
# One source reads them in several ways, of which these operators take one, or all.
_SEVERAL_WAYS = {("ImageInput", "output_type"): "data type",  # a number or a name
                 ("Int8GivenIntTensorFill", "values"): "list of int",
                 ("Int8GivenTensorFill", "values"): "string"}
_LIST_OF = {"int": "list of int", "bool": "list of int", "float": "list of float",
            "string": "list of string"}


def _read_types(paths):
    """{argument: the types by which these sources read it}; "T" for the parameter of a template."""
    found = collections.defaultdict(set)
    for path in paths:
        text = path.read_text()
        for form, cpp, name in re.findall(
                r'Get(Single|Repeated)Argument<\s*([\w:]+)\s*>\(\s*"(\w+)"', text):
            kind = _CPP.get(cpp, cpp)
            found[name].add(kind if form == "Single" else _LIST_OF.get(kind, kind))
        for name in re.findall(r'DataTypeArgument\([^;]*?"(\w+)"', text):
            found[name].add("data type")
    return found


def _stem(path):
    """"<folder>/<stem>" of a source; "image/image_input" of image_input_op_schema.cc."""
    return f"{path.parent.name}/{re.split('_op[._]', path.name)[0].split('.')[0]}"


def _read_types_by_stem():
    """{stem: _read_types of its files}; "" for all files."""
    by_stem = collections.defaultdict(list)
    for folder in ("operators", "distributed", "caffe2", "db"):
        for path in (_ROOT / folder).rglob("*"):
            if path.suffix in (".cc", ".h"):
                by_stem[_stem(path)].append(path)
                by_stem[""].append(path)
    return {stem: _read_types(paths) for stem, paths in by_stem.items()}


def _types_read(read, stem, name):
    """The types by which an operator reads an argument, by its own files; if they do not read it,
    by files whose names continue its stem, else by all files."""
    for stems in ([stem], [other for other in read if other.startswith(stem + "_")], [""]):
        types = set().union(*(read.get(each, {}).get(name, ()) for each in stems))
        if types:
            return types, stems != [""]
    return set(), False


def test_types_are_the_ones_that_operators_read():
    read = _read_types_by_stem()
    assert len(read[""]) > 300
    compared = 0
    for op_type, schema in _SCHEMAS.items():
        stem = _stem(pathlib.Path(schema.file))
        for argument in schema.args:
            types, own = _types_read(read, stem, argument.name)
            fields = {ACCEPTED[each][0] for each in types & ACCEPTED.keys()}
            if argument.type == "any" or not fields:
                continue
            compared += 1
            if (op_type, argument.name) in _SEVERAL_WAYS:
                assert argument.type == _SEVERAL_WAYS[op_type, argument.name]
                continue
            if own and not types <= ACCEPTED.keys():
                continue  # a template reads it by its parameter
            # Whatever an operator reads is accepted, and nothing else is.
            assert ACCEPTED[argument.type][0] in fields, (op_type, argument.name, types)
            assert len(fields) == 1 or not own, (op_type, argument.name, types)
    assert compared > 1000


def test_nearly_all_arguments_have_a_type():
    arguments = [argument for schema in _SCHEMAS.values() for argument in schema.args]
    untyped = {argument.name for argument in arguments if argument.type == "any"
               and not re.match("(Not read|Accepted|Of Caffe2|Without effect)|.*; not read",
                                argument.description)}
    assert untyped == {"value", "values"}  # of the type that another argument, or input, names


def test_choices_are_known_where_an_operator_reads_them():
    for op_type in ("Conv", "MaxPool", "SpatialBN", "GroupNorm", "Concat", "ResizeNearest",
                    "SpatialBNGradient", "ImageInput"):
        assert argument_rules(_SCHEMAS[op_type])["order"].choices == ("NCHW", "NHWC"), op_type
    assert "order" not in argument_rules(_SCHEMAS["Softmax"])
    assert argument_rules(_SCHEMAS["Add"])["order"].choices == ()  # names of axes, any letters
    assert argument_rules(_SCHEMAS["SequenceMask"])["mode"].choices == (
        "sequence", "window", "upper", "lower", "upperdiag", "lowerdiag")
