"""Nets on NHWC images, and batches of any size, as ONNX models: against ONNX's own reference
evaluator."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx import TensorProto  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

from caffe2.python import core  # noqa: E402
from caffe2.python.onnx import error, frontend, helper  # noqa: E402


def random(*shape, seed=0, low=-1.0):
    return np.random.RandomState(seed).uniform(low, 1.0, shape).astype(np.float32)


PARAMETERS = {
    "w": random(6, 3, 2, 3, seed=1), "w2": random(6, 1, 1, 6, seed=2), "s": random(6, seed=3),
    "o": random(6, seed=4), "m": random(6, seed=5), "v": random(6, seed=6, low=0.5),
    "fw": random(5, 48, seed=7), "fb": random(5, seed=8)}


def network():
    """A residual block on NHWC images, then operators that depend on the order of their input."""
    net = core.Net("predict")
    net.AddExternalInput("x", *PARAMETERS)
    net.Conv(["x", "w"], "c", kernel_h=3, kernel_w=2, pad_t=1, pad_r=1, order="NHWC")
    net.SpatialBN(["c", "s", "o", "m", "v"], "n", is_test=1, epsilon=1e-3, order="NHWC")
    net.Relu("n", "n")
    net.Conv(["n", "w2"], "c2", kernel=1, order="NHWC")
    net.Sum(["c2", "n"], "sum")
    net.Relu("sum", "sum")
    net.MaxPool("sum", "p", kernel=2, stride=2, order="NHWC")
    net.AveragePool("p", "q", kernel=2, stride=1, order="NHWC")
    net.Sigmoid("q", "gate")
    net.Softmax("q", "by_channel", axis=3)
    net.Mul(["by_channel", "gate"], "gated")
    net.FC(["gated", "fw", "fb"], "scores")
    net.Softmax("scores", "y")
    net.AddExternalOutput("y", "sum")
    return net.Proto()


X = random(3, 7, 10, 3, seed=9)


def expected(net, x):
    init = core.Net("init")
    for name, value in PARAMETERS.items():
        init.Const(value, name)
    return helper.c2_native_run_net(init.Proto(), net, {"x": x})[1]


def test_a_net_on_nhwc_images():
    net = network()
    before = net.SerializeToString()
    model = frontend.caffe2_net_to_onnx_model(
        net, PARAMETERS, {"x": (TensorProto.FLOAT, X.shape)})
    assert net.SerializeToString() == before
    results = ReferenceEvaluator(model).run(None, {"x": X})
    wanted = expected(net, X)
    assert [output.name for output in model.graph.output] == ["y", "sum"]
    for result, name in zip(results, ("y", "sum")):
        np.testing.assert_allclose(result, wanted[name], rtol=1e-4, atol=1e-6)
    # The image comes in once, and goes out at the two places where its order matters and as `sum`.
    kinds = [node.op_type for node in model.graph.node]
    assert kinds.count("Transpose") == 4
    assert kinds.index("Transpose") < kinds.index("Conv")


def test_a_filter_that_comes_in_is_transposed_by_the_model():
    net = core.Net("predict")
    net.AddExternalInput("x", "w")
    net.Conv(["x", "w"], "y", kernels=[3, 2], order="NHWC")
    net.AddExternalOutput("y")
    w = PARAMETERS["w"]
    model = frontend.caffe2_net_to_onnx_model(net.Proto(), value_info={
        "x": (TensorProto.FLOAT, X.shape), "w": (TensorProto.FLOAT, w.shape)})
    (result,) = ReferenceEvaluator(model).run(None, {"x": X, "w": w})
    _, wanted = helper.c2_native_run_net(None, net.Proto(), {"x": X, "w": w})
    np.testing.assert_allclose(result, wanted["y"], rtol=1e-4, atol=1e-6)


def test_a_net_that_writes_an_image_again():
    net = core.Net("predict")
    net.AddExternalInput("x")
    net.MaxPool("x", "p", kernel=2, order="NHWC")
    net.Transpose("p", "t", axes=[0, 2, 1, 3])
    net.Relu("p", "p")
    net.Softmax("t", "p", axis=3)
    net.MaxPool("p", "y", kernel=2, order="NHWC")
    net.AddExternalOutput("y")
    model = frontend.caffe2_net_to_onnx_model(
        net.Proto(), value_info={"x": (TensorProto.FLOAT, X.shape)})
    (result,) = ReferenceEvaluator(model).run(None, {"x": X})
    _, wanted = helper.c2_native_run_net(None, net.Proto(), {"x": X})
    np.testing.assert_allclose(result, wanted["y"], rtol=1e-4, atol=1e-6)


def dims_of(value):
    return [dim.dim_param or dim.dim_value for dim in value.type.tensor_type.shape.dim]


def test_batches_of_any_size():
    net = network()
    model = frontend.caffe2_net_to_onnx_model(
        net, PARAMETERS, {"x": (TensorProto.FLOAT, ["batch", *X.shape[1:]])})
    assert dims_of(model.graph.input[0]) == ["batch", 7, 10, 3]
    assert [dims_of(output) for output in model.graph.output] == [["batch", 5],
                                                                 ["batch", 6, 10, 6]]
    for count in (1, 3):
        results = ReferenceEvaluator(model).run(None, {"x": X[:count]})
        np.testing.assert_allclose(results[0], expected(net, X[:count])["y"], rtol=1e-4, atol=1e-6)


def test_a_dimension_that_is_another_number_of_the_free_one_has_no_name():
    net = core.Net("predict")
    net.AddExternalInput("x")
    net.AddExternalOutput(net.Concat(["x", "x"], ["y", "_"], axis=0)[0])
    model = frontend.caffe2_net_to_onnx_model(
        net.Proto(), value_info={"x": (TensorProto.FLOAT, ("n", 3))})
    assert dims_of(model.graph.output[0]) == [0, 3]
    with pytest.raises(ValueError, match=r"\['h', 'n'\]"):
        frontend.caffe2_net_to_onnx_model(
            net.Proto(), value_info={"x": (TensorProto.FLOAT, ("n", "h"))})


def test_what_has_no_nchw_form_is_refused():
    net = core.Net("predict")
    net.AddExternalInput("x")
    net.AddExternalOutput(net.LpPool("x", "y", kernel=2, p=2.0, order="NHWC"))
    with pytest.raises(error.Unsupported, match="LpPool"):
        frontend.caffe2_net_to_onnx_model(
            net.Proto(), value_info={"x": (TensorProto.FLOAT, X.shape)})
