"""ONNX's LSTM, GRU and RNN, against onnxruntime."""

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="the package onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
from onnx import TensorProto, numpy_helper  # noqa: E402
from onnx import helper as make  # noqa: E402

from caffe2.python.onnx import backend, error  # noqa: E402

STEPS, BATCH, INPUT, HIDDEN = 5, 3, 4, 6
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STATES = {"LSTM": 2, "GRU": 1, "RNN": 1}


def random(*shape, seed=0):
    return np.random.RandomState(seed).uniform(-1, 1, shape).astype(np.float32)


def model_of(op_type, direction="forward", bias=True, lengths=None, initial=(), outputs=None,
             opset=14, constant_states=False, name="", **attributes):
    """(model, feed) of one node on x [T, N, I] with a free batch.

    Args:
      lengths: of the sequences, or None.
      initial: which states are given, such as "h", "c" or "hc".
      outputs: which outputs there are, of Y, Y_h and Y_c; default: all.
    """
    directions = 2 if direction == "bidirectional" else 1
    gates = GATES[op_type] * HIDDEN
    weights = {"w": random(directions, gates, INPUT, seed=1),
               "r": random(directions, gates, HIDDEN, seed=2)}
    if bias:
        weights["b"] = random(directions, 2 * gates, seed=3)
    inputs = {"x": random(STEPS, BATCH, INPUT, seed=4)}
    if lengths is not None:
        inputs["lengths"] = np.array(lengths, np.int32)
    for k, state in enumerate(initial):
        (weights if constant_states else inputs)[state] = random(
            directions, BATCH, HIDDEN, seed=5 + k)
    given = {*inputs, *weights}
    names = [key if key in given else "" for key in ("x", "w", "r", "b", "lengths", "h", "c")]
    names = names[:7 if op_type == "LSTM" else 6]
    all_outputs = ["Y", "Y_h", "Y_c"][:1 + STATES[op_type]]
    kept = [output if outputs is None or output in outputs else "" for output in all_outputs]
    node = make.make_node(op_type, names, [output and name + output for output in kept],
                          hidden_size=HIDDEN, direction=direction, **attributes)
    graph = make.make_graph(
        [node], op_type, [make.make_tensor_value_info(
            key, make.np_dtype_to_tensor_dtype(value.dtype),
            [dim if dim != BATCH else "N" for dim in value.shape])
            for key, value in inputs.items()],
        [make.make_empty_tensor_value_info(output) for output in node.output if output],
        [numpy_helper.from_array(value, key) for key, value in weights.items()])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", opset)])
    model.ir_version = 7
    return onnx.shape_inference.infer_shapes(model), inputs


def compare(model, feed):
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    prepared = backend.prepare(model)
    for batch in (BATCH, 1):
        part = {name: value[:batch] if name == "lengths" else value[:, :batch]
                for name, value in feed.items()}
        expected, results = session.run(None, part), prepared.run(part)
        assert len(results) == len(expected) > 0
        for result, reference in zip(results, expected):
            assert result.dtype == reference.dtype and result.shape == reference.shape
            np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


DIRECTIONS = ("forward", "reverse", "bidirectional")


@pytest.mark.parametrize("op_type", sorted(GATES))
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("lengths", [None, [2, 5, 3], [5, 4, 1]])
def test_sequences(op_type, direction, bias, lengths):
    compare(*model_of(op_type, direction, bias, lengths))


@pytest.mark.parametrize("op_type, initial", [
    ("LSTM", "h"), ("LSTM", "c"), ("LSTM", "hc"), ("GRU", "h"), ("RNN", "h")])
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("lengths", [None, [1, 5, 4]])
def test_initial_states(op_type, initial, direction, lengths):
    compare(*model_of(op_type, direction, True, lengths, initial))


@pytest.mark.parametrize("op_type", sorted(GATES))
def test_constant_states_and_single_nodes(op_type):
    model, feed = model_of(op_type, initial="hc"[:STATES[op_type]], constant_states=True)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    expected = session.run(None, feed)
    values = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    node = backend.run_node(model.graph.node[0], {**feed, **values}, opset_version=14)
    for results in (backend.run_model(model, feed), node):
        assert len(results) == len(expected)
        for result, reference in zip(results, expected):
            np.testing.assert_allclose(result, reference, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("before_reset", [0, 1])
@pytest.mark.parametrize("lengths", [None, [3, 5, 2]])
@pytest.mark.parametrize("opset", [7, 14])
def test_reset_gates(direction, before_reset, lengths, opset):
    compare(*model_of("GRU", direction, lengths=lengths, initial="h", opset=opset,
                      linear_before_reset=before_reset))


@pytest.mark.parametrize("direction, activations", [
    ("forward", ["Relu"]), ("reverse", ["Tanh"]), ("bidirectional", ["Relu", "Tanh"])])
@pytest.mark.parametrize("lengths", [None, [3, 5, 2]])
def test_activations(direction, activations, lengths):
    compare(*model_of("RNN", direction, lengths=lengths, activations=activations))


def test_default_activations_that_are_named():
    compare(*model_of("LSTM", activations=["Sigmoid", "Tanh", "Tanh"]))
    compare(*model_of("GRU", "bidirectional", activations=["Sigmoid", "Tanh"] * 2))


@pytest.mark.parametrize("op_type, outputs", [
    ("LSTM", ["Y"]), ("LSTM", ["Y_h"]), ("LSTM", ["Y_c"]), ("LSTM", ["Y", "Y_c"]),
    ("GRU", ["Y_h"]), ("RNN", ["Y_h"])])
def test_some_outputs(op_type, outputs):
    compare(*model_of(op_type, "bidirectional", lengths=[2, 5, 3], outputs=outputs))


@pytest.mark.parametrize("op_type", sorted(GATES))
def test_names_of_exporters(op_type):
    compare(*model_of(op_type, "bidirectional", name=f"/layer.0/{op_type}_output_0:"))


def test_two_layers_of_a_classifier():
    """As exporters write it: the states of zeros are made from the shape of the input."""
    weights = {f"{key}{k}": random(2, 4 * HIDDEN, size, seed=k)
               for k, inputs in enumerate((INPUT, 2 * HIDDEN))
               for key, size in (("w", inputs), ("r", HIDDEN))}
    weights |= {f"b{k}": random(2, 8 * HIDDEN, seed=7 + k) for k in (0, 1)}
    weights |= {"two": np.array([2]), "hidden": np.array([HIDDEN]), "one": np.array([1]),
                "flat": np.array([0, 0, -1]), "last": np.array(-1), "top": random(2 * HIDDEN, 3)}
    nodes = [
        make.make_node("Shape", ["x"], ["shape"]),
        make.make_node("Gather", ["shape", "one"], ["batch"]),
        make.make_node("Concat", ["two", "batch", "hidden"], ["state"], axis=0),
        make.make_node("ConstantOfShape", ["state"], ["zeros"])]
    x = "x"
    for k in (0, 1):
        nodes += [
            make.make_node("LSTM", [x, f"w{k}", f"r{k}", f"b{k}", "", "zeros", "zeros"], [f"y{k}"],
                           hidden_size=HIDDEN, direction="bidirectional"),
            make.make_node("Transpose", [f"y{k}"], [f"t{k}"], perm=[0, 2, 1, 3]),
            make.make_node("Reshape", [f"t{k}", "flat"], [f"z{k}"])]
        x = f"z{k}"
    nodes += [make.make_node("MatMul", [x, "top"], ["scores"]),
              make.make_node("LogSoftmax", ["scores"], ["result"], axis=2)]
    graph = make.make_graph(
        nodes, "g", [make.make_tensor_value_info("x", TensorProto.FLOAT, ["T", "N", INPUT])],
        [make.make_tensor_value_info("result", TensorProto.FLOAT, ["T", "N", 3])],
        [numpy_helper.from_array(value, key) for key, value in weights.items()])
    model = make.make_model(graph, opset_imports=[make.make_opsetid("", 14)])
    model.ir_version = 7
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"])
    prepared = backend.prepare(model)
    for steps, batch in ((5, 3), (2, 1)):
        x = random(steps, batch, INPUT, seed=steps)
        np.testing.assert_allclose(
            prepared.run({"x": x}).result, session.run(None, {"x": x})[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("op_type, attributes, why", [
    ("LSTM", {"clip": 1.0}, "clip is not supported"),
    ("LSTM", {"input_forget": 1}, "input_forget is not supported"),
    ("GRU", {"layout": 1}, "layout 1 is not supported"),
    ("GRU", {"activations": ["Tanh", "Tanh"]}, "activations .* are not supported, only"),
    ("RNN", {"activations": ["Elu"]}, "activations .* are not supported, only"),
    ("RNN", {"direction": "both"}, "direction both is not one of"),
    ("RNN", {"direction": "bidirectional", "activations": ["Tanh"]}, "there are 1 activations"),
])
def test_what_the_cells_cannot_compute_is_refused(op_type, attributes, why):
    model, _ = model_of(op_type, **attributes)
    with pytest.raises(error.Unsupported, match=f"{op_type} \\(.*\\): {why}"):
        backend.onnx_graph_to_caffe2_net(model)


def test_peepholes_are_refused():
    model, _ = model_of("LSTM")
    model.graph.node[0].input.append("p")
    model.graph.initializer.append(numpy_helper.from_array(random(1, 3 * HIDDEN), "p"))
    with pytest.raises(error.Unsupported, match="peepholes"):
        backend.onnx_graph_to_caffe2_net(model)


@pytest.mark.parametrize("changed, value, why", [
    ("w", None, r"input 1 \(w\) must be a constant"),
    ("r", random(1, HIDDEN, HIDDEN).astype(np.float64), "input R is float64"),
    ("w", random(1, HIDDEN + 1, INPUT), "hidden_size 6 does not fit to inputs W"),
    ("r", np.zeros((), np.float32), r"input R is float32 \[\]"),
    ("b", random(2, 2 * HIDDEN), "input B is float32 .* of which the first is 1"),
])
def test_weights_that_do_not_fit_are_refused(changed, value, why):
    model, _ = model_of("RNN")
    kept = [tensor for tensor in model.graph.initializer if tensor.name != changed]
    del model.graph.initializer[:]
    model.graph.initializer.extend(kept)
    if value is not None:
        model.graph.initializer.append(numpy_helper.from_array(value, changed))
    with pytest.raises(error.Unsupported, match=why):
        backend.Caffe2Backend.onnx_graph_to_caffe2_net(model)
