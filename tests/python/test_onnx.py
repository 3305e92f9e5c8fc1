"""Nets to ONNX and back, against ONNX's own reference evaluator."""

import os

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx import TensorProto, version_converter  # noqa: E402
from onnx import helper as make  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from caffe2.python import core  # noqa: E402
from caffe2.python.onnx import backend, backend_rep, error, frontend, helper  # noqa: E402

_DATA = os.environ.get("CAFFE2_TEST_DATA")
needs_data = pytest.mark.skipif(not _DATA, reason="CAFFE2_TEST_DATA is not set")


def random(*shape, seed=0, low=-1.0, high=1.0):
    return np.random.RandomState(seed).uniform(low, high, shape).astype(np.float32)


def conv_values(out_channels=6, in_channels=4, kernel=3):
    return {"w": random(out_channels, in_channels, kernel, kernel, seed=1),
            "b": random(out_channels, seed=2)}


# name: (operator type, inputs, arguments, shape of x, parameters)
OPERATORS = {
    "conv": ("Conv", ["x", "w", "b"], {"kernel": 3, "pad": 1, "stride": 2}, (2, 4, 7, 8),
             conv_values()),
    "conv_sides": ("Conv", ["x", "w"], {
        "kernels": [3, 3], "pads": [0, 1, 2, 1], "dilations": [2, 1]}, (1, 4, 9, 7),
        conv_values()),
    "conv_group": ("Conv", ["x", "w", "b"], {"kernel_h": 3, "kernel_w": 3, "group": 2},
                   (1, 8, 5, 5), conv_values()),
    "conv_same": ("Conv", ["x", "w", "b"], {"kernel": 3, "legacy_pad": 2, "stride": 2},
                  (1, 4, 6, 5), conv_values()),
    "conv_3d": ("Conv", ["x", "w"], {"kernels": [3, 2, 3]}, (1, 2, 5, 4, 5),
                {"w": random(3, 2, 3, 2, 3, seed=1)}),
    "matmul": ("MatMul", ["x", "y"], {"trans_a": 1, "trans_b": 1}, (3, 2),
               {"y": random(4, 3, seed=1)}),
    "add_to_channels": ("Add", ["x", "y"], {"broadcast": 1, "axis_str": "C"}, (2, 3, 4, 5),
                        {"y": random(3, seed=1)}),
    "split_nhwc": ("Split", ["x"], {"order": "NHWC"}, (2, 3, 5, 4), {}),
    "conv_transpose": ("ConvTranspose", ["x", "w", "b"], {"kernel": 3, "stride": 2, "pad": 1},
                       (1, 6, 4, 5), {"w": random(6, 4, 3, 3, seed=1), "b": random(4, seed=2)}),
    "max_pool": ("MaxPool", ["x"], {"kernel": 3, "stride": 2, "pad": 1}, (2, 3, 8, 7), {}),
    "max_pool_caffe": ("MaxPool", ["x"], {"kernel": 3, "stride": 2, "legacy_pad": 3},
                       (2, 3, 8, 8), {}),
    "average_pool": ("AveragePool", ["x"], {"kernel": 3, "stride": 2, "pad": 1}, (2, 3, 8, 7), {}),
    "average_pool_pad": ("AveragePool", ["x"], {
        "kernel": 3, "stride": 1, "pad": 1, "count_include_pad": 1}, (2, 3, 5, 5), {}),
    "global_pool": ("AveragePool", ["x"], {"global_pooling": 1}, (2, 3, 5, 4), {}),
    "spatial_bn": ("SpatialBN", ["x", "s", "b", "m", "v"], {"is_test": 1, "epsilon": 1e-3},
                   (2, 3, 4, 5), {"s": random(3, seed=1), "b": random(3, seed=2),
                                  "m": random(3, seed=3), "v": random(3, seed=4, low=0.5)}),
    "fc": ("FC", ["x", "w", "b"], {}, (3, 2, 4), {"w": random(5, 8, seed=1), "b": random(5)}),
    "relu": ("Relu", ["x"], {}, (3, 4), {}),
    "prelu": ("PRelu", ["x", "s"], {}, (2, 3, 4, 4), {"s": random(3, seed=1)}),
    "leaky_relu": ("LeakyRelu", ["x"], {"alpha": 0.2}, (3, 4), {}),
    "elu": ("Elu", ["x"], {"alpha": 0.7}, (3, 4), {}),
    "selu": ("Selu", ["x"], {}, (3, 4), {}),
    "sigmoid": ("Sigmoid", ["x"], {}, (3, 4), {}),
    "tanh": ("Tanh", ["x"], {}, (3, 4), {}),
    "clip": ("Clip", ["x"], {"min": -0.3, "max": 0.4}, (3, 4), {}),
    "softmax": ("Softmax", ["x"], {}, (3, 4), {}),
    "softmax_rows": ("Softmax", ["x"], {"axis": 1}, (3, 2, 2), {}),
    # The reference computes as many channels as there are images.
    "lrn": ("LRN", ["x"], {"size": 5, "alpha": 0.1, "beta": 0.75, "bias": 1.5}, (7, 7, 3, 3), {}),
    "instance_norm": ("InstanceNorm", ["x", "s", "b"], {"epsilon": 1e-3}, (2, 3, 4, 4),
                      {"s": random(3, seed=1), "b": random(3, seed=2)}),
    "concat": ("Concat", ["x", "y"], {"axis": 1}, (2, 3, 4), {"y": random(2, 5, 4, seed=1)}),
    "sum": ("Sum", ["x", "y"], {}, (3, 4), {"y": random(3, 4, seed=1)}),
    "add_channels": ("Add", ["x", "b"], {"broadcast": 1, "axis": 1}, (2, 3, 4, 5),
                     {"b": random(3, seed=1)}),
    "mul_numpy": ("Mul", ["x", "y"], {}, (2, 3, 4), {"y": random(3, 1, seed=1)}),
    "reshape": ("Reshape", ["x"], {"shape": [0, -1]}, (2, 3, 4), {}),
    "shape": ("Shape", ["x"], {}, (2, 3, 4), {}),
    "shape_of_axes": ("Shape", ["x"], {"axes": [2, 0]}, (2, 3, 4), {}),
    "reshape_to_an_input": ("Reshape", ["x", "to"], {}, (2, 3, 4), {
        "to": np.array([0, -1, 2], np.int64)}),
    "flatten": ("Flatten", ["x"], {"axis": 2}, (2, 3, 4), {}),
    "transpose": ("Transpose", ["x"], {"axes": [2, 0, 1]}, (2, 3, 4), {}),
    "transpose_reverse": ("Transpose", ["x"], {}, (2, 3, 4), {}),
    "shuffle": ("ChannelShuffle", ["x"], {"group": 2, "kernel": 1}, (2, 6, 3, 3), {}),
    "pad": ("PadImage", ["x"], {"pad_t": 1, "pad_l": 2, "pad_r": 1, "mode": "reflect"},
            (1, 2, 4, 5), {}),
    "resize": ("ResizeNearest", ["x"], {"height_scale": 2.0, "width_scale": 3.0}, (1, 2, 3, 4),
               {}),
    "scale": ("Scale", ["x"], {"scale": 0.25}, (3, 4), {}),
    "slice": ("Slice", ["x"], {"starts": [0, 1], "ends": [-1, -2]}, (3, 5), {}),
    "squeeze": ("Squeeze", ["x"], {"dims": [1]}, (3, 1, 4), {}),
    "expand_dims": ("ExpandDims", ["x"], {"dims": [0, 2]}, (3, 4), {}),
    "nhwc2nchw": ("NHWC2NCHW", ["x"], {}, (2, 3, 4, 5), {}),
    "dropout": ("Dropout", ["x"], {"is_test": 1, "ratio": 0.5}, (3, 4), {}),
}
_SECOND_OUTPUTS = {"Concat": ["lengths"], "Reshape": ["old_shape"], "Dropout": ["mask"],
                   "Split": ["rest"]}


def one_operator_net(name):
    op_type, inputs, arguments, shape, parameters = OPERATORS[name]
    init, predict = core.Net("init"), core.Net("predict")
    for blob, value in parameters.items():
        init.Const(value, blob)
    predict.AddExternalInput("x", *parameters)
    predict._create_and_add(
        op_type, inputs, ["result", *_SECOND_OUTPUTS.get(op_type, [])], **arguments)
    predict.AddExternalOutput("result")
    return init.Proto(), predict.Proto(), random(*shape, seed=5)


def with_explicit_pads(model, size):
    """The model with the pads that SAME_UPPER means for images of this size: the reference of onnx
    up to 1.18 takes others than its specification says."""
    explicit = onnx.ModelProto.FromString(model.SerializeToString())
    for node in explicit.graph.node:
        window = {attribute.name: make.get_attribute_value(attribute)
                  for attribute in node.attribute}
        if window.get("auto_pad") != b"SAME_UPPER":
            continue
        pads = [max(-(-n // stride) * stride - stride + kernel - n, 0)
                for n, kernel, stride in zip(size, window["kernel_shape"], window["strides"])]
        del window["auto_pad"]
        window["pads"] = [pad // 2 for pad in pads] + [pad - pad // 2 for pad in pads]
        del node.attribute[:]
        node.attribute.extend(make.make_attribute(*item) for item in window.items())
    return explicit


@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_operator_to_onnx_and_back(name):
    init, predict, x = one_operator_net(name)
    _, expected = helper.c2_native_run_net(init, predict, {"x": x})
    model = frontend.caffe2_net_to_onnx_model(
        predict, init, {"x": (TensorProto.FLOAT, x.shape)})
    reference = ReferenceEvaluator(with_explicit_pads(model, x.shape[2:])).run(None, {"x": x})[0]
    np.testing.assert_allclose(expected["result"], reference, rtol=1e-4, atol=1e-5)
    back = backend.run_model(model, [x])
    np.testing.assert_allclose(back.result, expected["result"], rtol=1e-5, atol=1e-6)


# ONNX nodes that the frontend does not write: (node type, operator set, attributes, inputs).
NODES = {
    "gemm_general": ("Gemm", 13, {"alpha": 0.5, "beta": 2.0, "transA": 1},
                     [random(3, 2), random(3, 4, seed=1), random(2, 4, seed=2)]),
    "gemm_plain": ("Gemm", 13, {}, [random(2, 3), random(3, 4, seed=1)]),
    "gemm_one_bias": ("Gemm", 13, {}, [random(2, 3), random(3, 4, seed=1), random(1, seed=2)]),
    "matmul_matrices": ("MatMul", 13, {}, [random(2, 1, 3, 4), random(5, 4, 2, seed=1)]),
    "matmul_square": ("MatMul", 13, {}, [random(4, 1, 4), random(4, 4, seed=1)]),
    "matmul_vector": ("MatMul", 13, {}, [random(3, 4), random(4, seed=1)]),
    "softmax_channels": ("Softmax", 13, {"axis": 1}, [random(2, 3, 4, 5)]),
    "softmax_first": ("Softmax", 13, {"axis": -3}, [random(2, 3, 4)]),
    "softmax_middle": ("Softmax", 13, {"axis": 1}, [random(2, 3, 4)]),
    "softmax_last": ("Softmax", 13, {"axis": 2}, [random(2, 3, 4)]),
    "sum_of_no_axes": ("ReduceSum", 13, {"noop_with_empty_axes": 1}, [random(2, 3)]),
    "sum_of_all_axes": ("ReduceSum", 13, {}, [random(2, 3), np.zeros(0, np.int64)]),
    "unsqueeze_from_the_end": ("Unsqueeze", 13, {}, [random(2, 3), np.array([0, -1])]),
    "squeeze_from_the_end": ("Squeeze", 13, {}, [random(1, 3, 1), np.array([-1])]),
    "gather_from_the_end": ("Gather", 13, {"axis": -1}, [random(3, 4), np.array([2, 0])]),
    "slice_from_the_end": ("Slice", 13, {}, [
        random(3, 5), np.array([1]), np.array([3]), np.array([-1])]),
    "prelu_of_all": ("PRelu", 13, {}, [random(2, 3, 4, 4), random(1, seed=1)]),
    "prelu_of_one_image": ("PRelu", 13, {}, [random(2, 3, 4, 4), random(1, 3, 1, 1, seed=1)]),
    "max_pool_ceil": ("MaxPool", 13, {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1},
                      [random(1, 2, 6, 6)]),
    "same_upper": ("MaxPool", 13, {
        "kernel_shape": [2, 2], "strides": [2, 2], "auto_pad": "SAME_UPPER"},
        [random(1, 2, 5, 5)]),
    "global_max": ("GlobalMaxPool", 13, {}, [random(2, 3, 4, 4)]),
    "reduce_mean": ("ReduceMean", 13, {"axes": [2, 3], "keepdims": 0}, [random(2, 3, 4, 4)]),
    "reciprocal": ("Reciprocal", 13, {}, [random(3, 4, low=0.5)]),
    "pow": ("Pow", 13, {}, [random(3, 4, low=0.5), random(3, 4, seed=1)]),
    "max": ("Max", 13, {}, [random(3, 4), random(3, 4, seed=1)]),
    "neg": ("Neg", 13, {}, [random(3, 4)]),
    "gather": ("Gather", 13, {"axis": 1}, [random(3, 4), np.array([2, 0], np.int64)]),
    "split": ("Split", 11, {"axis": 1, "split": [1, 3]}, [random(3, 4)]),
    "cast": ("Cast", 13, {"to": TensorProto.INT32}, [random(3, 4, high=9.0)]),
    "unsqueeze_11": ("Unsqueeze", 11, {"axes": [1]}, [random(3, 4)]),
    "clip_10": ("Clip", 10, {"min": -0.5, "max": 0.25}, [random(3, 4)]),
    "upsample": ("Upsample", 9, {"mode": "nearest"},
                 [random(1, 2, 3, 3), np.float32([1, 1, 2, 2])]),
}


def one_node_model(name):
    op_type, opset, attributes, values = NODES[name]
    inputs = [f"i{k}" for k in range(len(values))]
    outputs = ["o0", "o1"] if op_type == "Split" else ["o0"]
    node = make.make_node(op_type, inputs, outputs, **attributes)
    # All but the first are initializers, as exported models have them.
    graph = make.make_graph(
        [node], name, [make.make_tensor_value_info(
            "i0", make.np_dtype_to_tensor_dtype(values[0].dtype), values[0].shape)],
        [make.make_empty_tensor_value_info(output) for output in outputs],
        [onnx.numpy_helper.from_array(value, f"i{k}") for k, value in enumerate(values) if k])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])
    model.ir_version = 7
    return model, node, opset, values


@pytest.mark.parametrize("name", sorted(NODES))
def test_node_runs_as_the_reference(name):
    model, node, opset, values = one_node_model(name)
    expected = ReferenceEvaluator(model).run(None, {"i0": values[0]})
    for results in (backend.Caffe2Rep(*_nets(model), ["i0"]).run([values[0]]),
                    backend.run_node(node, values, opset_version=opset)):
        for result, reference in zip(results, expected):
            assert result.dtype == reference.dtype
            np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


def test_pads_of_some_axes():
    x, pads, axes = random(1, 2, 5, 6), np.array([1, 2, 3, 4]), np.array([3, -2])
    node = make.make_node("Pad", ["x", "pads", "", "axes"], ["y"])
    y = backend.run_node(node, {"x": x, "pads": pads, "axes": axes}, opset_version=18).y
    np.testing.assert_array_equal(y, np.pad(x, ((0, 0), (0, 0), (2, 4), (1, 3))))


@pytest.mark.parametrize("op_type, attributes, shapes, why", [
    ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, [(1, 1, 5, 5)], "dilations"),
    ("ConvTranspose", {"auto_pad": "SAME_UPPER"}, [(1, 2, 5, 5), (2, 3, 3, 3)], "auto_pad"),
    ("ConvTranspose", {"dilations": [2, 2]}, [(1, 2, 5, 5), (2, 3, 3, 3)], "dilations"),
    ("PRelu", {}, [(2, 4, 4, 4), (4,)], "slope"),
    ("PRelu", {}, [(2, 3, 4, 4), (3, 4, 4)], "slope"),
    ("Shape", {"start": 1}, [(2, 3)], "start and end"),
    ("Squeeze", {}, [(2, 1, 3)], "axes are missing"),
    ("Squeeze", {}, [(2, 1, 3), (0,)], "axes are missing"),
    ("Dropout", {}, [(2, 3), (1,), (1,)], "training_mode"),
    ("BatchNormalization", {"spatial": 0}, [(2, 3, 4, 4), (3,), (3,), (3,), (3,)], "spatial is 0"),
    ("BatchNormalization", {"training_mode": 1}, [(2, 3, 4, 4), (3,), (3,), (3,), (3,)],
     "training_mode is not supported: export the model for inference"),
    ("Conv", {"auto_pad": "SAME_LOWER"}, [(2, 3, 4, 4), (3, 3, 2, 2)],
     "auto_pad SAME_LOWER is not supported: export the model with pads"),
    ("MaxPool", {"kernel_shape": [2, 2], "dilations": [2, 2]}, [(2, 3, 4, 4)],
     r"dilations \[2, 2\] of pooling are not supported"),
    ("Resize", {"mode": "linear"}, [(2, 3, 4, 4)], "mode linear is not supported, only nearest"),
    ("Resize", {}, [(2, 3, 4, 4)], "half_pixel with nearest_mode round_prefer_floor is not "
     "supported, only asymmetric with floor"),
    ("Round", {}, [(2, 3)], "operators of this type are not supported"),
])
def test_nodes_that_would_be_wrong_are_refused(op_type, attributes, shapes, why):
    inputs = [f"i{k}" for k in range(len(shapes))]
    node = make.make_node(op_type, inputs, ["y"], **attributes)
    with pytest.raises(error.Unsupported, match=f"{op_type} \\(y\\): .*{why}"):
        backend.run_node(node, [random(*shape) for shape in shapes], opset_version=15)


def test_steps_of_slices_are_refused():
    node = make.make_node("Slice", ["x", "starts", "ends", "axes", "steps"], ["y"])
    values = {"x": random(2, 3), "starts": np.array([0]), "ends": np.array([3]),
              "axes": np.array([1]), "steps": np.array([2])}
    with pytest.raises(error.Unsupported, match="steps other than 1 are not supported"):
        backend.run_node(node, values, opset_version=15)


def test_a_zero_in_a_shape_copies_the_axis_unless_the_node_says_otherwise():
    values = {"x": random(2, 3), "shape": np.array([0, 1, 3])}
    node = make.make_node("Reshape", ["x", "shape"], ["y"])
    assert backend.run_node(node, values, opset_version=15).y.shape == (2, 1, 3)
    node = make.make_node("Reshape", ["x", "shape"], ["y"], allowzero=1)
    with pytest.raises(error.Unsupported, match="allowzero"):
        backend.run_node(node, values, opset_version=15)


def test_nodes_are_refused_on_devices_that_there_are_not():
    with pytest.raises(error.Unsupported, match="device TPU"):
        backend.run_node(make.make_node("Neg", ["x"], ["y"]), [random(3)], device="TPU")


def _nets(model):
    return backend.onnx_graph_to_caffe2_net(model)


@pytest.mark.parametrize("op_type, function", [
    ("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide),
    ("Pow", np.power), ("PRelu", lambda x, slope: np.where(x > 0, x, x * slope)),
])
def test_old_operands_meet_the_channels(op_type, function):
    # As many rows and columns as channels: the last dimension would fit, too.
    x, y = random(2, 3, 3, 3, low=-1.0 if op_type == "PRelu" else 0.5), random(3, seed=1, low=0.5)
    attributes = {} if op_type == "PRelu" else {"broadcast": 1, "axis": 1}
    node = make.make_node(op_type, ["x", "y"], ["z"], **attributes)
    result = backend.run_node(node, [x, y], opset_version=6).z
    np.testing.assert_allclose(result, function(x, y.reshape(3, 1, 1)), rtol=1e-6)


def test_old_softmax_takes_all_later_axes_as_one():
    x = random(2, 3, 4)
    node = make.make_node("Softmax", ["x"], ["y"], axis=1)
    y = backend.run_node(node, [x], opset_version=12).y
    exponential = np.exp(x.reshape(2, 12))
    expected = exponential / exponential.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(y, expected.reshape(2, 3, 4), rtol=1e-5)


def small_network():
    """(init net, predict net) of the operators that most image classifiers consist of."""
    init, net = core.Net("init"), core.Net("predict")
    parameters = {
        "w": random(6, 3, 3, 3), "b": random(6, seed=1), "s": random(6, seed=2),
        "o": random(6, seed=3), "m": random(6, seed=4), "v": random(6, seed=5, low=0.5),
        "fw": random(5, 54, seed=6), "fb": random(5, seed=7)}
    for blob, value in parameters.items():
        init.Const(value, blob)
    net.AddExternalInput("x", *parameters)
    net.Conv(["x", "w", "b"], "c", kernel=3, pad=1)
    net.SpatialBN(["c", "s", "o", "m", "v"], "n", is_test=1)
    net.Relu("n", "r")
    net.MaxPool("r", "p", kernel=2, stride=2)
    net.AveragePool("p", "q", kernel=2)
    net.Concat(["q", "q"], ["twice", "_lengths"], axis=1)
    net.Slice("twice", "once", starts=[0, 0, 0, 0], ends=[-1, 6, -1, -1])
    net.Add(["once", "q"], "sum")
    net.Dropout("sum", ["kept", "_mask"], is_test=1)
    net.FC(["kept", "fw", "fb"], "f")
    net.Softmax("f", "y")
    net.AddExternalOutput("y")
    return init.Proto(), net.Proto()


@pytest.mark.parametrize("opset", range(15, backend._NEWEST_OPSET + 1))
def test_models_of_newer_operator_sets(opset):
    if opset > onnx.defs.onnx_opset_version():
        pytest.skip(f"onnx {onnx.__version__} has no operator set {opset}")
    init, predict = small_network()
    x = random(2, 3, 8, 8, seed=9)
    _, expected = helper.c2_native_run_net(init, predict, {"x": x})
    model = frontend.caffe2_net_to_onnx_model(
        predict, init, {"x": (TensorProto.FLOAT, x.shape)})
    converted = version_converter.convert_version(model, opset)
    assert converted.opset_import[0].version == opset
    np.testing.assert_allclose(
        ReferenceEvaluator(model).run(None, {"x": x})[0], expected["y"], rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(backend.run_model(converted, [x])[0], expected["y"], rtol=1e-6)


def test_a_shape_that_is_computed_is_refused():
    net = core.Net("computed")
    net.AddExternalInput("x", "to")
    net.Reshape(["x", "to"], ["y", "old_shape"])
    net.AddExternalOutput("y")
    with pytest.raises(error.Unsupported, match="shape of the output y does not follow"):
        frontend.caffe2_net_to_onnx_model(net.Proto(), {"to": np.array([6], np.int64)}, {
            "x": (TensorProto.FLOAT, (2, 3)), "to": (TensorProto.INT64, (1,))})


def test_in_place_operators_get_names_of_their_own():
    net = core.Net("in_place")
    net.AddExternalInput("x")
    net.Relu("x", "x")
    net.Sigmoid("x", "x")
    net.AddExternalOutput("x")
    x = random(2, 3)
    model = frontend.caffe2_net_to_onnx_model(
        net.Proto(), value_info={"x": (TensorProto.FLOAT, (2, 3))})
    result = backend.prepare(model).run({"x": x})[0]
    np.testing.assert_allclose(result, 1 / (1 + np.exp(-np.maximum(x, 0))), rtol=1e-5)


def test_what_cannot_be_expressed_is_named():
    net = core.Net("odd")
    net.AddExternalInput("x")
    net.TopK("x", ["y", "i"], k=1)
    net.AddExternalOutput("y")
    with pytest.raises(ValueError, match="no value_info"):
        frontend.caffe2_net_to_onnx_model(net.Proto())
    info = {"x": (TensorProto.FLOAT, (2, 3))}
    with pytest.raises(error.Unsupported, match="TopK"):
        frontend.caffe2_net_to_onnx_model(net.Proto(), value_info=info)
    net = core.Net("odd")
    net.AddExternalInput("cube", "y")
    net.AddExternalOutput(net.MatMul(["cube", "y"], "z"))
    with pytest.raises(error.Unsupported, match="cube has 3 dimensions"):
        frontend.caffe2_net_to_onnx_model(net.Proto(), value_info={
            "cube": (TensorProto.FLOAT, (2, 3, 4)), "y": (TensorProto.FLOAT, (12, 5))})
    model, _, _, _ = one_node_model("neg")
    assert backend.is_compatible(model) and backend.supports_device("CPU")
    model.graph.node[0].op_type = "NonMaxSuppression"
    assert not backend.is_compatible(model)
    with pytest.raises(error.BaseException, match="NonMaxSuppression"):
        _nets(model)
    with pytest.raises(error.Unsupported, match="device TPU"):
        backend.onnx_graph_to_caffe2_net(model, device="TPU")
    model.opset_import[0].version = 99
    with pytest.raises(NotImplementedError, match="99"):
        _nets(model)


def test_the_frontend_is_also_a_class():
    init, predict, x = one_operator_net("fc")
    info = {"x": (TensorProto.FLOAT, x.shape)}
    one = frontend.Caffe2Frontend
    assert one.caffe2_net_to_onnx_model(predict, init, info) \
        == one().caffe2_net_to_onnx_model(predict, init_net=init, value_info=info) \
        == frontend.caffe2_net_to_onnx_model(predict, init, info)
    assert one.caffe2_net_to_onnx_graph(predict, init, info) \
        == frontend.caffe2_net_to_onnx_graph(predict, init, info)
    assert [tensor.name for tensor in one.caffe2_init_net_to_initializer(init)] == ["w", "b"]
    assert one.target_opset_version == frontend.target_opset_version


def test_wrong_inputs_are_named():
    model, _, _, values = one_node_model("neg")
    prepared = backend_rep.Caffe2Rep(*_nets(model), ["i0"])
    with pytest.raises(ValueError, match="nothing"):
        prepared.run({"nothing": values[0]})
    with pytest.raises(ValueError, match="2 values"):
        prepared.run([values[0], values[0]])


def test_helpers(tmp_path, caplog):
    init, predict, x = one_operator_net("fc")
    path = str(tmp_path / "net.pb")
    helper.save_caffe2_net(predict, path, output_txt=True)
    assert helper.load_caffe2_net(path) == helper.load_caffe2_net(path + "txt") == predict
    helper.dummy_name(["OC2_DUMMY_1"])
    assert helper.dummy_name() != helper.dummy_name()
    _, outputs = helper.c2_native_run_op(
        core.CreateOperator("Relu", ["a"], ["b"]), [np.float32([-1, 2])])
    for b in (outputs["b"], outputs.b, outputs[0], *outputs):
        np.testing.assert_array_equal(b, [0, 2])
    with pytest.raises(ValueError, match=r"2 values are too many for .* \['x'\] \(the case\)"):
        helper.c2_native_run_net(init, predict, [x, x], debug_arg="the case")
    init.op.append(helper.fill_operator(x, "x"))
    assert helper.benchmark_caffe2_model(init, predict, 1, 2, layer_details=False) > 0
    assert not caplog.records
    with caplog.at_level("INFO"):
        assert helper.benchmark_caffe2_model(init, predict, 1, 2, layer_details=True) > 0
    assert [record.getMessage().split()[0] for record in caplog.records] == [
        op.type for op in predict.op]


@needs_data
@pytest.mark.parametrize("folder, blob, shape", [
    ("lenet_mnist", "data", (2, 1, 28, 28)),
    ("lenet_mnist_onnx", "1", (2, 1, 28, 28)),
    ("squeezenet", "data", (1, 3, 227, 227)),
    ("mtcnn_pnet", "data", (1, 3, 60, 40)),
    ("resnet32_cifar10", "data", (2, 3, 32, 32)),
    ("super_resolution_onnx", "1", (1, 1, 224, 224)),
])
def test_real_models(folder, blob, shape):
    folder = os.path.join(_DATA, "caffe2_models", folder)
    init = helper.load_caffe2_net(os.path.join(folder, "init_net.pb"))
    predict = helper.load_caffe2_net(os.path.join(folder, "predict_net.pb"))
    for op in [*init.op, *predict.op]:
        op.ClearField("device_option")
    if not predict.external_output:
        predict.external_output.append(predict.op[-1].output[0])
    x = random(*shape, seed=9, low=0.0)
    _, expected = helper.c2_native_run_net(init, predict, {blob: x})
    model = frontend.caffe2_net_to_onnx_model(predict, init, {blob: (TensorProto.FLOAT, shape)})
    init, predict = backend.onnx_graph_to_caffe2_net(model)
    again = frontend.caffe2_net_to_onnx_model(predict, init, {blob: (TensorProto.FLOAT, shape)})
    for each in (model, again):
        results = backend.run_model(each, {blob: x})
        assert len(results) > 0
        for output, result in zip(each.graph.output, results):
            np.testing.assert_allclose(result, expected[output.name], rtol=1e-4, atol=1e-5)
