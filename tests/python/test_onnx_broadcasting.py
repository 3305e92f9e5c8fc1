"""ONNX's Max, Min, Mean and Sum on inputs of several shapes, against onnxruntime and numpy."""

import functools

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
from onnx import TensorProto, numpy_helper  # noqa: E402
from onnx import helper as make  # noqa: E402

from caffe2.python.convert import formats  # noqa: E402
from caffe2.python.convert.net_pair import init_net_of  # noqa: E402
from caffe2.python.onnx import backend  # noqa: E402

RANDOM = np.random.RandomState(7)
X = RANDOM.uniform(-1, 1, (2, 3, 4, 5)).astype(np.float32)
FUNCTIONS = {"Max": np.maximum, "Min": np.minimum, "Sum": np.add, "Mean": np.add}


def constant(*shape):
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


# Constants beside x, and the place of x among the inputs.
OPERANDS = {
    "a scalar": ([np.float32(0.1)], 0),
    "a scalar first": ([np.float32(0.1)], 1),
    "channels": ([constant(3, 1, 1)], 0),
    "channels first": ([constant(3, 1, 1)], 1),
    "rows": ([constant(1, 5)], 0),
    "one image": ([constant(1, 3, 4, 5)], 0),
    "more dimensions": ([constant(2, 1, 1, 1, 1)], 0),
    "three": ([constant(3, 1, 1), np.float32(0.2)], 1),
    "nothing": ([], 0),
}


def model_of(op_type, constants, place, batch, middle=False):
    names = [f"c{i}" for i in range(len(constants))]
    source = "hidden" if middle else "x"
    nodes = [make.make_node("Relu", ["x"], ["hidden"])] if middle else []
    nodes.append(make.make_node(op_type, [*names[:place], source, *names[place:]], ["y"]))
    shape = np.broadcast_shapes(X.shape, *(np.shape(value) for value in constants))
    shape = [batch, *shape[1:]] if len(shape) == X.ndim else shape
    graph = make.make_graph(
        nodes, "g", [make.make_tensor_value_info("x", TensorProto.FLOAT, [batch, *X.shape[1:]])],
        [make.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
        [numpy_helper.from_array(np.asarray(value), name)
         for name, value in zip(names, constants)])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    model.ir_version = 7
    return model


@pytest.mark.parametrize("operands", sorted(OPERANDS))
@pytest.mark.parametrize("batch", ["N", 2])
@pytest.mark.parametrize("op_type", sorted(FUNCTIONS))
def test_constants_are_broadcast(op_type, batch, operands):
    constants, place = OPERANDS[operands]
    model = model_of(op_type, constants, place, batch)
    expected = functools.reduce(FUNCTIONS[op_type], [X, *constants])
    if op_type == "Mean":
        expected = expected / np.float32(1 + len(constants))
    (result,) = backend.run_model(model, [X])
    assert result.shape == expected.shape
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-7)
    (again,) = backend.run_node(model.graph.node[-1], {
        "x": X, **{f"c{i}": value for i, value in enumerate(constants)}})
    np.testing.assert_array_equal(again, result)


@pytest.mark.parametrize("operands", sorted(set(OPERANDS) - {"more dimensions"}))
@pytest.mark.parametrize("op_type", sorted(FUNCTIONS))
def test_onnxruntime_computes_the_same(op_type, operands, tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    model = model_of(op_type, *OPERANDS[operands], "N", middle=True)
    onnx.save(model, f"{tmp_path}/a.onnx")
    formats.write(formats.read(f"{tmp_path}/a.onnx"), f"{tmp_path}/a.mdl")
    session = runtime.InferenceSession(f"{tmp_path}/a.onnx")
    read = formats.read(f"{tmp_path}/a.mdl")
    prepared = backend.Caffe2Rep(init_net_of(read), read.net, ["x"])
    for x in (X, X[:1]):
        (expected,) = session.run(None, {"x": x})
        (result,) = prepared.run([x])
        assert result.shape == expected.shape
        np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op_type", sorted(FUNCTIONS))
def test_two_blobs_that_widen_each_other(op_type):
    a, b = constant(3, 1, 5), constant(4, 1)
    (result,) = backend.run_node(make.make_node(op_type, ["a", "b"], ["y"]), [a, b])
    expected = FUNCTIONS[op_type](a, b) / np.float32(2 if op_type == "Mean" else 1)
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("op_type", ["Max", "Min"])
def test_integers_are_broadcast(op_type):
    a, b = np.array([[1, 5], [7, 2]]), np.array(4)
    (result,) = backend.run_node(make.make_node(op_type, ["a", "b"], ["y"]), [a, b])
    assert result.dtype == a.dtype
    np.testing.assert_array_equal(result, FUNCTIONS[op_type](a, b))


@pytest.mark.parametrize("op_type", sorted(FUNCTIONS))
def test_equal_shapes_stay_one_operator(op_type):
    graph = make.make_graph(
        [make.make_node("Relu", ["x"], ["z"]), make.make_node(op_type, ["x", "z", "x"], ["y"])],
        "g", [make.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [make.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 13)])
    _, predict = backend.onnx_graph_to_caffe2_net(model)
    assert [op.type for op in predict.op] == ["Relu", op_type]
