"""Single ONNX nodes of several operator sets, against onnxruntime."""

import pathlib
import re

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
from onnx import TensorProto, numpy_helper  # noqa: E402
from onnx import helper as make  # noqa: E402

from caffe2.python.onnx import backend, error  # noqa: E402

RANDOM = np.random.RandomState(11)


def floats(*shape, low=-2.0, high=2.0):
    return RANDOM.uniform(low, high, shape).astype(np.float32)


def integers(*shape, low=-9, high=9, dtype=np.int64):
    return RANDOM.randint(low, high, shape).astype(dtype)


def model_of(op_type, values, constants=(), opset=15, outputs=1, free=False, **attributes):
    """A model of one node. Inputs at the positions `constants` are initializers; with `free`, the
    first dimension of input 0 is free. An input that is None is left out."""
    names = [f"i{k}" if value is not None else "" for k, value in enumerate(values)]
    node = make.make_node(op_type, names, [f"o{k}" for k in range(outputs)], **attributes)
    inputs = [
        make.make_tensor_value_info(
            name, make.np_dtype_to_tensor_dtype(value.dtype),
            ["N", *value.shape[1:]] if free and name == "i0" else value.shape)
        for k, (name, value) in enumerate(zip(names, values)) if name and k not in constants]
    initializers = [numpy_helper.from_array(values[k], names[k]) for k in constants]
    graph = make.make_graph(
        [node], op_type, inputs,
        [make.make_empty_tensor_value_info(name) for name in node.output], initializers)
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])
    model.ir_version = 10 if opset > 17 else 7
    return onnx.shape_inference.infer_shapes(model)


def feed_of(model, values):
    names = {value.name for value in model.graph.input}
    return {f"i{k}": value for k, value in enumerate(values) if f"i{k}" in names}


def compare(model, values, rtol=1e-5, atol=1e-6):
    """Runs a model here and in onnxruntime; also the node alone."""
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = feed_of(model, values)
    expected = session.run(None, feed)
    all_inputs = {f"i{k}": value for k, value in enumerate(values) if value is not None}
    for results in (backend.run_model(model, feed), backend.run_node(
            model.graph.node[0], all_inputs, opset_version=model.opset_import[0].version)):
        assert len(results) == len(expected)
        for result, reference in zip(results, expected):
            assert np.asarray(result).dtype == reference.dtype
            assert np.shape(result) == reference.shape
            np.testing.assert_allclose(result, reference, rtol=rtol, atol=atol)


UNARY = {
    **{name: (-2, 2, 7) for name in ("Sin", "Cos", "Abs", "Neg", "Sigmoid", "Tanh")},
    **{name: (-1, 1, 7) for name in ("Acos", "Asin", "Atan", "Tan")},
    **{name: (-2, 2, 9) for name in ("Sinh", "Cosh", "Sign", "Erf")},
    "Mish": (-4, 4, 18), "Gelu": (-4, 4, 20), "HardSwish": (-5, 5, 14), "HardSigmoid": (-5, 5, 6),
    "ThresholdedRelu": (-2, 2, 10), "Size": (-1, 1, 13),
}


@pytest.mark.parametrize("op_type", sorted(UNARY))
@pytest.mark.parametrize("shape", [(), (4,), (3, 1, 5)])
def test_functions_of_elements(op_type, shape):
    low, high, opset = UNARY[op_type]
    x = np.asarray(floats(*shape, low=low, high=high))
    compare(model_of(op_type, [x], opset=opset), [x])


@pytest.mark.parametrize("op_type, attributes, opset", [
    ("HardSigmoid", {"alpha": 0.5, "beta": 0.1}, 6), ("ThresholdedRelu", {"alpha": 0.3}, 10),
    ("Gelu", {"approximate": "tanh"}, 20), ("Elu", {"alpha": 0.4}, 6),
    ("LpNormalization", {"axis": 1, "p": 1}, 1), ("LpNormalization", {"axis": 1}, 1),
    ("LpNormalization", {}, 1), ("Flatten", {"axis": -1}, 11), ("Flatten", {"axis": 0}, 9),
    ("Flatten", {"axis": -2}, 13),
])
def test_attributes(op_type, attributes, opset):
    x = floats(2, 3, 4)
    compare(model_of(op_type, [x], opset=max(opset, 7), **attributes), [x])


def test_zero_vectors_stay():
    x = floats(3, 4)
    x[1] = 0
    for p in (1, 2):
        compare(model_of("LpNormalization", [x], p=p), [x])


def test_sign_of_integers_and_zeros():
    for x in (integers(4, 5, dtype=np.int32), np.float32([-0.0, 0.0, 3, -np.inf])):
        compare(model_of("Sign", [x]), [x])


@pytest.mark.parametrize("op_type, opset", [
    ("Less", 7), ("Less", 9), ("Greater", 7), ("Greater", 13), ("LessOrEqual", 12),
    ("GreaterOrEqual", 16), ("Equal", 13)])
@pytest.mark.parametrize("shapes", [((3, 4), (3, 4)), ((2, 3, 4), (3, 1)), ((4,), (2, 1)),
                                    ((2, 3), ())])
def test_comparisons(op_type, opset, shapes):
    kinds = [np.float32] if opset == 7 else [np.float32, np.int32, np.int64]
    for kind in kinds:
        values = [np.asarray(integers(*shape, low=-2, high=2, dtype=kind)) for shape in shapes]
        compare(model_of(op_type, values, opset=opset), values)


def test_comparisons_of_no_number():
    values = [np.float32([1, np.nan, np.nan, np.inf]), np.float32([np.nan, 1, np.nan, np.inf])]
    for op_type in ("Less", "Greater", "LessOrEqual", "GreaterOrEqual", "Equal"):
        compare(model_of(op_type, values), values)


def test_old_comparisons_meet_the_given_axis():
    x, y = floats(2, 3, 3), floats(3)
    node = make.make_node("Less", ["x", "y"], ["z"], broadcast=1, axis=1)
    result = backend.run_node(node, [x, y], opset_version=6).z
    np.testing.assert_array_equal(result, x < y[:, None])


def test_exclusive_or_and_bits():
    a, b = integers(3, 4, low=0, high=2).astype(bool), integers(4, low=0, high=2).astype(bool)
    compare(model_of("Xor", [a, b], opset=7), [a, b])
    a, b = integers(3, 4, low=0, high=99), integers(4, low=0, high=99)
    for op_type in ("BitwiseAnd", "BitwiseOr", "BitwiseXor"):
        compare(model_of(op_type, [a, b], opset=18), [a, b])


@pytest.mark.parametrize("divisor", [3, -3])
@pytest.mark.parametrize("fmod", [0, 1])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_remainders(divisor, fmod, kind):
    values = [integers(4, 5, dtype=kind), np.array([divisor], kind)]
    compare(model_of("Mod", values, [1], opset=13, fmod=fmod), values)


@pytest.mark.parametrize("shapes", [
    ((3, 4), (3, 4), (3, 4)), ((3, 1), (1, 4), (4,)), ((2, 1, 1), (3, 1), (4,)),
    ((4,), (2, 3, 4), ()), ((), (2, 3), (3,)), ((2, 1), (1, 3), (1, 3))])
@pytest.mark.parametrize("kind", [np.float32, np.int64])
def test_where(shapes, kind):
    condition = np.asarray(integers(*shapes[0], low=0, high=2)).astype(bool)
    values = [condition, *(np.asarray(integers(*shape, dtype=kind)) for shape in shapes[1:])]
    compare(model_of("Where", values, opset=9), values)
    if condition.ndim:
        compare(model_of("Where", values, [2], opset=16, free=True), values)


@pytest.mark.parametrize("shape, to", [
    ((3, 1), [2, 3, 4]), ((3, 4), [1, 1]), ((1, 3), [2, 1]), ((), [2, 2]), ((5,), [3, 1])])
@pytest.mark.parametrize("constants", [[], [1]])
def test_expand(shape, to, constants):
    values = [np.asarray(floats(*shape)), np.array(to, np.int64)]
    compare(model_of("Expand", values, constants, opset=8), values)


@pytest.mark.parametrize("shape, repeats", [((3,), [2]), ((2, 3), [2, 1]), ((2, 1, 3), [1, 4, 2])])
@pytest.mark.parametrize("constants", [[], [1]])
def test_tile(shape, repeats, constants):
    values = [floats(*shape), np.array(repeats, np.int64)]
    compare(model_of("Tile", values, constants, opset=13), values)


@pytest.mark.parametrize("values", [
    (0, 10, 3), (10, 0, -4), (5, 5, 1), (np.float32(0.5), np.float32(3), np.float32(0.5))])
def test_range(values):
    values = [np.asarray(value) for value in values]
    compare(model_of("Range", values, opset=11), values)


@pytest.mark.parametrize("op_type", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize("opset, attributes", [
    (7, {}), (7, {"axis": 1, "keepdims": 0}), (11, {"axis": -1}),
    (13, {"axis": -3, "keepdims": 0}), (13, {"axis": 2, "select_last_index": 0})])
def test_positions_of_extremes(op_type, opset, attributes):
    for x in (floats(2, 3, 4), integers(2, 3, 4, low=0, high=3).astype(np.float32)):
        compare(model_of(op_type, [x], opset=opset, **attributes), [x])


@pytest.mark.parametrize("opset, attributes", [
    (9, {"k": 2, "axis": 0}), (10, {}), (11, {"axis": 1}), (11, {"axis": -2, "largest": 0}),
    (13, {"largest": 0, "sorted": 1})])
def test_top_k(opset, attributes):
    for kind in (np.float32, np.int64)[:1 if opset < 11 else 2]:  # older sets have floats only
        values = [integers(4, 3, 5, low=0, high=6, dtype=kind)]
        if opset > 9:
            values.append(np.array([2]))
        compare(model_of("TopK", values, [1] if opset > 9 else (), opset, 2, **attributes), values)


REDUCTIONS = ("ReduceL1", "ReduceL2", "ReduceLogSum", "ReduceLogSumExp", "ReduceMax", "ReduceMean",
              "ReduceMin", "ReduceSum", "ReduceSumSquare")


@pytest.mark.parametrize("op_type", REDUCTIONS)
@pytest.mark.parametrize("axes", [None, [1], [0, -1], [-2]])
@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("opset", [11, 13, 18])
def test_reductions(op_type, axes, keepdims, opset):
    x = floats(2, 3, 4, low=0.1)
    as_input = opset >= (13 if op_type == "ReduceSum" else 18)
    if as_input:
        values = [x] + ([np.array(axes)] if axes else [])
        model = model_of(op_type, values, range(1, len(values)), opset, keepdims=keepdims)
    else:
        values, given = [x], {"axes": axes} if axes else {}
        model = model_of(op_type, values, (), opset, keepdims=keepdims, **given)
    compare(model, values)


def test_sums_of_exponentials_of_any_size():
    x = np.float32([[1000, 999], [-1000, -1001], [-np.inf, -np.inf], [3, -np.inf]])
    for keepdims in (0, 1):
        compare(model_of("ReduceLogSumExp", [x], axes=[1], keepdims=keepdims), [x])


@pytest.mark.parametrize("op_type", ["LogSoftmax", "Softmax"])
@pytest.mark.parametrize("opset, attributes", [
    (7, {}), (9, {"axis": 2}), (11, {"axis": 0}), (11, {"axis": -2}), (11, {"axis": -1}),
    (13, {}), (13, {"axis": 0}), (15, {"axis": -2})])
def test_softmaxes(op_type, opset, attributes):
    x = floats(2, 3, 4)
    compare(model_of(op_type, [x], opset=opset, **attributes), [x])
    compare(model_of(op_type, [x], opset=opset, free=True, **attributes), [x])


@pytest.mark.parametrize("opset", [11, 13])
def test_logarithms_of_tiny_probabilities(opset):
    x = np.float32([[0, -300, 5], [1000, 0, 999]])
    compare(model_of("LogSoftmax", [x], opset=opset, axis=1), [x])


@pytest.mark.parametrize("op_type, shapes, attributes", [
    ("Conv", [(2, 4, 7, 6), (6, 4, 3, 2)], {"pads": [1, 0, 1, 1]}),
    ("Conv", [(2, 4, 7, 6), (6, 2, 3, 3), (6,)], {"group": 2, "strides": [2, 1]}),
    ("Conv", [(2, 4, 7, 6), (6, 4, 3, 3)], {"auto_pad": "SAME_UPPER", "strides": [2, 2]}),
    ("ConvTranspose", [(2, 4, 5, 6), (4, 3, 3, 2)], {"strides": [2, 2]}),
    ("ConvTranspose", [(2, 4, 5, 6), (4, 3, 3, 3)], {
        "strides": [2, 2], "output_padding": [1, 1], "pads": [1, 1, 1, 1]}),
])
@pytest.mark.parametrize("constants", [[], [1]])
def test_kernels_of_the_filters_shape(op_type, shapes, attributes, constants):
    values = [floats(*shape) for shape in shapes]
    compare(model_of(op_type, values, constants, 11, **attributes), values, 1e-4, 1e-4)


@pytest.mark.parametrize("op_type, shape, attributes", [
    ("DepthToSpace", (2, 8, 3, 5), {"blocksize": 2}),
    ("DepthToSpace", (2, 18, 2, 3), {"blocksize": 3, "mode": "CRD"}),
    ("SpaceToDepth", (2, 3, 4, 6), {"blocksize": 2}),
])
def test_blocks_of_images(op_type, shape, attributes):
    x = floats(*shape)
    opset = 13 if "mode" in attributes else 9
    compare(model_of(op_type, [x], opset=opset, **attributes), [x])
    compare(model_of(op_type, [x], opset=opset, free=True, **attributes), [x])


@pytest.mark.parametrize("axis", [None, 1, -2, 2])
@pytest.mark.parametrize("bias", [False, True])
def test_layer_normalization(axis, bias):
    x = floats(2, 3, 4)
    shape = x.shape[-1 if axis is None else axis:]
    values = [x, floats(*shape)] + ([floats(*shape)] if bias else [])
    given = {} if axis is None else {"axis": axis}
    compare(model_of("LayerNormalization", values, range(1, len(values)), 17, epsilon=1e-3,
                     **given), values, 1e-4, 1e-5)


@pytest.mark.parametrize("indices", [[2, 0, 1], [4]])
def test_one_hot(indices):
    values = [np.array(indices), np.array(5), np.float32([0, 1])]
    compare(model_of("OneHot", values, [1, 2], opset=11), values)


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(-3), np.int32(7), np.bool_(True)])
@pytest.mark.parametrize("constants", [[], [0]])
def test_fills_of_a_shape(value, constants):
    values = [np.array([2, 3])]
    model = model_of("ConstantOfShape", values, constants, opset=9,
                     value=numpy_helper.from_array(np.array([value])))
    compare(model, values)


@pytest.mark.parametrize("values, axis", [
    ([floats(4, 3), np.array([-1, 0])], 0), ([floats(4, 3), np.array(-3)], 1),
    ([integers(4), np.array(-1)], 0), ([floats(4, 3), np.array([[0, -2], [1, 2]])], -1)])
def test_indices_from_the_end(values, axis):
    compare(model_of("Gather", values, [1], axis=axis), values)


@pytest.mark.parametrize("start, end", [
    (-100, 100), (0, -100), (3, 2), (9, 12), (-1, 2**63 - 1), (-3, -1), (0, 0), (-4, 3), (5, 5)])
def test_bounds_of_slices(start, end):
    values = [floats(4, 5), np.array([1, start]), np.array([3, end]), np.array([0, -1])]
    compare(model_of("Slice", values, [1, 2, 3], opset=13), values)


def test_the_last_part_may_be_smaller():
    x = floats(2, 7)
    compare(model_of("Split", [x], opset=18, outputs=3, axis=-1, num_outputs=3), [x])


@pytest.mark.parametrize("exponent", [np.array(2), np.int32([3]), np.float32(0.5)])
def test_constant_exponents(exponent):
    values = [floats(3, 4, low=0.1), np.asarray(exponent)]
    compare(model_of("Pow", values, [1], opset=13), values)


def test_an_output_that_is_not_computed_is_refused_if_it_is_read():
    x = floats(3, 4)
    node = make.make_node("Dropout", ["x"], ["y", "mask"])
    nodes = [node, make.make_node("Not", ["mask"], ["z"])]
    info = [make.make_tensor_value_info("x", TensorProto.FLOAT, x.shape)]
    for count, outputs, refused in ((1, ["y"], False), (2, ["y"], True), (1, ["y", "mask"], True)):
        graph = make.make_graph(nodes[:count], "g", info, [
            make.make_tensor_value_info(
                name, TensorProto.FLOAT if name == "y" else TensorProto.BOOL, x.shape)
            for name in outputs])
        model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
        if refused:
            with pytest.raises(error.Unsupported, match="its output mask is not supported"):
                backend.run_model(model, [x])
        else:
            np.testing.assert_array_equal(backend.run_model(model, [x])[0], x)
    with pytest.raises(error.Unsupported, match="its output mask is not supported"):
        backend.run_node(node, [x], opset_version=13)


@pytest.mark.parametrize("op_type, values, constants, attributes, why", [
    ("AveragePool", [floats(1, 2, 6, 6)], [], {
        "kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1], "ceil_mode": 1,
        "count_include_pad": 1}, "ceil_mode with count_include_pad"),
    ("ArgMax", [floats(2, 3)], [], {"select_last_index": 1}, "select_last_index"),
    ("TopK", [floats(2, 3), np.array([4])], [1], {}, "4 elements are asked for, but axis -1 has 3"),
    ("TopK", [floats(2, 3), np.array([1])], [], {}, r"input 1 \(i1\) must be a constant"),
    ("Mod", [integers(4), np.array([0])], [1], {}, "the divisor must be one integer"),
    ("Mod", [floats(4), np.float32([2])], [1], {"fmod": 1}, "the divisor must be one integer"),
    ("Mod", [integers(4), np.array([[2]])], [1], {}, "must not have more dimensions"),
    ("OneHot", [integers(4), np.array(3), np.float32([1, 0])], [1, 2], {}, "values float32"),
    ("OneHot", [integers(4, 2), np.array(3), np.float32([0, 1])], [1, 2], {}, "2 dimensions"),
    ("OneHot", [integers(4), np.array(3), np.float32([0, 1])], [1, 2], {"axis": 0}, "axis 0"),
    ("OneHot", [integers(4), np.array([3, 4]), np.float32([0, 1])], [1, 2], {},
     "depth must be one number"),
    ("DepthToSpace", [floats(4, 8)], [], {"blocksize": 2}, "the number of channels"),
    ("ReduceProd", [floats(4, 8)], [], {}, "operators of this type are not supported"),
])
def test_nodes_that_would_be_wrong_are_refused(op_type, values, constants, attributes, why):
    outputs = [f"o{k}" for k in range(2 if op_type == "TopK" else 1)]
    node = make.make_node(op_type, [f"i{k}" for k in range(len(values))], outputs, **attributes)
    graph = make.make_graph(
        [node], "g", [make.make_tensor_value_info(
            f"i{k}", make.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for k, value in enumerate(values) if k not in constants],
        [make.make_empty_tensor_value_info(name) for name in outputs],
        [numpy_helper.from_array(values[k], f"i{k}") for k in constants])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 15)])
    with pytest.raises(error.Unsupported, match=f"{op_type} \\(o0.*\\): .*{why}"):
        backend.onnx_graph_to_caffe2_net(model)


@pytest.mark.parametrize("op_type", ["ReduceL1", "ReduceSumSquare"])
def test_reductions_of_no_axes_are_refused(op_type):
    node = make.make_node(op_type, ["x"], ["y"], noop_with_empty_axes=1)
    with pytest.raises(error.Unsupported, match="noop_with_empty_axes without axes"):
        backend.run_node(node, [floats(2, 3)], opset_version=18)


def test_kernels_of_unknown_shape_are_refused():
    graph = make.make_graph(
        [make.make_node("Conv", ["x", "w"], ["y"])], "g",
        [make.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 5, 5]),
         make.make_tensor_value_info("w", TensorProto.FLOAT, [3, 2, "K", "K"])],
        [make.make_empty_tensor_value_info("y")])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 15)])
    with pytest.raises(error.Unsupported, match=r"Conv \(y\): kernel_shape is missing"):
        backend.onnx_graph_to_caffe2_net(model)


def test_the_page_lists_all_nodes():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "python.md").read_text()
    listed = page.split("<!-- nodes of the backend -->")[1].split("<!-- end of nodes -->")[0]
    assert re.findall(r"`(\w+)`", listed) == sorted([*backend._TRANSLATORS, "Constant"])
