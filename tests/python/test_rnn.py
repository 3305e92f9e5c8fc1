"""Recurrent networks: cells against numpy, gradients against differences, the example."""

import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, gradient_checker, gru_cell, recurrent, rnn_cell, workspace
from caffe2.python.attention import AttentionType
from caffe2.python.examples import char_rnn
from caffe2.python.model_helper import ExtractPredictorNet, ModelHelper
from caffe2.python.modeling.parameter_sharing import ParameterSharing
from caffe2.python.rnn.rnn_cell_test_util import _prepare_rnn, sigmoid

STEPS, BATCH, DIM, UNITS = 4, 3, 5, 2


# With CAFFE2_TEST_DEVICE=cuda blobs and operators of the tests lie on a CUDA device.
DEVICE = caffe2_pb2.CUDA if os.environ.get("CAFFE2_TEST_DEVICE") == "cuda" else caffe2_pb2.CPU


@pytest.fixture(autouse=True)
def device():
    if DEVICE == caffe2_pb2.CUDA and not workspace.NumGpuDevices():
        pytest.skip("no CUDA device")
    with core.DeviceScope(core.DeviceOption(DEVICE)):
        yield


def test_steps_on_an_emulated_device():
    """Steps are launched one after another, on a device that only works when it is waited for. The
    environment must say so before the library is loaded, so that it takes another process."""
    library = pathlib.Path(workspace.__file__).parents[3] / "lib" / "libcaffe2_cuda_emulated.so"
    if not library.exists():
        pytest.skip(f"{library} has not been built")
    env = {**os.environ, "CAFFE2_TEST_DEVICE": "cuda", "CAFFE2_CUDA_LIBRARY": str(library),
           "CUDA_EMULATION_ASYNC": "1", "CUDA_EMULATION_BACKWARD": "1"}
    chosen = "pass_through or layers_of_lstm or gru_equals or unrolled or (attention and 3-False)"
    run_apart = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", __file__, "-k", chosen], env=env,
        capture_output=True, text=True, check=False)
    assert run_apart.returncode == 0, run_apart.stdout
    assert "skipped" not in run_apart.stdout, run_apart.stdout


def feed_inputs(states=("h", "c"), units=UNITS, seed=0):
    """Feeds x [T, N, D], lengths [N] and an initial value [1, N, H] for each state."""
    rng = np.random.default_rng(seed)
    workspace.FeedBlob("x", rng.standard_normal((STEPS, BATCH, DIM)).astype(np.float32))
    workspace.FeedBlob("lengths", np.array([STEPS, 1, 3], np.int32))
    for state in states:
        workspace.FeedBlob(state, rng.standard_normal((1, BATCH, units)).astype(np.float32))


def randomize_parameters(model, seed=1):
    rng = np.random.default_rng(seed)
    for param in model.GetAllParams():
        shape = workspace.FetchBlob(param).shape
        workspace.FeedBlob(param, rng.uniform(-1, 1, shape).astype(np.float32))


def add_loss(model, output):
    """A sum of the output with different weights, so that a mean does not hide a wrong gradient."""
    loss = model.net.SumElements(model.net.Mul([output, output], "squares"), "loss")
    model.AddGradientOperators([loss])
    return loss


def run(model):
    workspace.RunNetOnce(model.param_init_net)
    randomize_parameters(model)
    workspace.CreateNet(model.net, overwrite=True)
    workspace.RunNet(model.net)


def check_gradients(model, blobs, step=1e-2, threshold=2e-2):
    """Gradients of the blob "loss" against central differences."""
    gradients = {str(b): workspace.FetchBlob(str(model.grad_map[str(b)])) for b in blobs}
    for blob, analytic in gradients.items():
        value = workspace.FetchBlob(blob)
        assert analytic.shape == value.shape
        numeric = np.empty(value.size)
        for i in range(value.size):
            losses = []
            for sign in (1, -1):
                moved = value.copy()
                moved.flat[i] += sign * step
                workspace.FeedBlob(blob, moved)
                workspace.RunNet(model.net)
                losses.append(float(workspace.FetchBlob("loss")))
            numeric[i] = (losses[0] - losses[1]) / (2 * step)
        workspace.FeedBlob(blob, value)
        scale = max(1, abs(numeric).max())
        np.testing.assert_allclose(
            analytic.ravel() / scale, numeric / scale, atol=threshold, err_msg=blob)
        assert abs(numeric).max() > 1e-3, f"{blob} has no influence"


def numpy_lstm(x, lengths, h, c, scope, forget_bias=0.0, drop_states=False, input_scope=None):
    """(h_all, h_last, c_all, c_last) in double, with the parameters in the workspace."""
    w_in, b_in = (workspace.FetchBlob(f"{input_scope or scope}/i2h_{name}").astype(np.float64)
                  for name in "wb")
    w, b = (workspace.FetchBlob(f"{scope}/gates_t_{name}").astype(np.float64) for name in "wb")
    h, c, h_all, c_all = h[0].astype(np.float64), c[0].astype(np.float64), [], []
    for t, x_t in enumerate(x):
        i, f, o, g = np.split(x_t @ w_in.T + b_in + h @ w.T + b, 4, axis=1)
        c_new = sigmoid(f + forget_bias) * c + sigmoid(i) * np.tanh(g)
        h_new = sigmoid(o) * np.tanh(c_new)
        valid = (t < lengths)[:, np.newaxis]
        h = np.where(valid, h_new, 0 if drop_states else h)
        c = np.where(valid, c_new, 0 if drop_states else c)
        h_all.append(h)
        c_all.append(c)
    return np.array(h_all), h[np.newaxis], np.array(c_all), c[np.newaxis]


@pytest.mark.parametrize("two_d", [True, False])
def test_prepared_networks_run(two_d):
    np.random.seed(0)

    def create(model, input_blob, seq_lengths, states, **arguments):
        assert (arguments["dim_in"], arguments["dim_out"]) == (DIM, [3, UNITS])
        return rnn_cell.LSTM(model, input_blob, seq_lengths, states, **arguments)

    outputs, net, inputs = _prepare_rnn(
        STEPS, BATCH, DIM, create, [0], 0.5, two_d_initial_states=two_d, dim_out=[3, UNITS])
    assert [str(blob) for blob in inputs] == [
        "state_0/layer_0", "state_1/layer_0", "state_0/layer_1", "state_1/layer_1",
        "test_name_scope/input_blob"]
    assert workspace.FetchBlob(inputs[0]).shape == ((BATCH, 3) if two_d else (1, BATCH, 3))
    workspace.FeedBlob(inputs[-1], np.random.randn(STEPS, BATCH, DIM).astype(np.float32))
    workspace.RunNetOnce(net)
    assert workspace.FetchBlob(outputs[0]).shape == (STEPS, BATCH, UNITS)


@pytest.mark.parametrize("with_lengths", [True, False])
@pytest.mark.parametrize("arguments", [
    {}, {"forget_bias": 0.5}, {"drop_states": True}, {"memory_optimization": True},
    {"forward_only": True}])
def test_lstm_equals_numpy(arguments, with_lengths):
    model = ModelHelper("lstm")
    outputs = rnn_cell.LSTM(model, "x", "lengths" if with_lengths else None, ("h", "c"), DIM,
                            UNITS, scope="LSTM", **arguments)
    assert [str(blob) for blob in outputs] == [
        "LSTM/hidden_state_all", "LSTM/hidden_state_last", "LSTM/cell_state_all",
        "LSTM/cell_state_last"]
    assert [str(p) for p in model.params] == [
        "LSTM/i2h_w", "LSTM/i2h_b", "LSTM/gates_t_w", "LSTM/gates_t_b"]
    feed_inputs()
    forward_only = arguments.get("forward_only", False)
    if not forward_only:
        add_loss(model, outputs[0])
    run(model)
    x, lengths, h, c = workspace.FetchBlobs(["x", "lengths", "h", "c"])
    kept = {key: arguments[key] for key in ("forget_bias", "drop_states") if key in arguments}
    expected = numpy_lstm(x, lengths if with_lengths else np.full(BATCH, STEPS), h, c, "LSTM",
                          **kept)
    for blob, value in zip(outputs, expected):
        np.testing.assert_allclose(workspace.FetchBlob(blob), value, rtol=1e-4, atol=1e-6)
    if not forward_only:
        check_gradients(model, ["x", "h", "c", *model.params])


def test_layers_of_lstm_equal_numpy():
    model = ModelHelper("lstm")
    states = ["h0", "c0", "h1", "c1"]
    outputs = rnn_cell.LSTM(model, "x", "lengths", states, DIM, [UNITS, UNITS], scope="LSTM",
                            return_last_layer_only=False, outputs_with_grads=(0, 3))
    assert len(outputs) == 8
    add_loss(model, brew.concat(model, [outputs[4], outputs[7]], "joined", axis=0))
    feed_inputs(states)
    run(model)
    x, lengths = workspace.FetchBlobs(["x", "lengths"])
    for layer in range(2):
        initial = workspace.FetchBlobs(states[2 * layer:2 * layer + 2])
        expected = numpy_lstm(x, lengths, *initial, f"LSTM/layer_{layer}",
                              input_scope="LSTM" if layer == 0 else None)
        for blob, value in zip(outputs[4 * layer:], expected):
            np.testing.assert_allclose(workspace.FetchBlob(blob), value, rtol=1e-4, atol=1e-6)
        x = expected[0]
    check_gradients(model, ["x", *states, *model.params])


def test_layered_lstm():
    model = ModelHelper("lstm")
    outputs = rnn_cell.layered_LSTM(
        model, "x", "lengths", ("h", "c"), DIM, [UNITS, UNITS], scope="LSTM")
    feed_inputs()
    add_loss(model, outputs[0])
    run(model)
    x, lengths, h, c = workspace.FetchBlobs(["x", "lengths", "h", "c"])
    first = numpy_lstm(x, lengths, h, c, "LSTM")
    second = numpy_lstm(first[0], lengths, first[1], first[3], "LSTM_layer_1")
    np.testing.assert_allclose(workspace.FetchBlob(outputs[0]), second[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("build, states, arguments", [
    (rnn_cell.BasicRNN, ("h",), {"activation": "tanh"}),
    (rnn_cell.BasicRNN, ("h",), {"activation": "tanh", "drop_states": True}),
    (rnn_cell.BasicRNN, ("h",), {"activation": "relu"}),
    (rnn_cell.LayerNormLSTM, ("h", "c"), {"forget_bias": 0.5}),
    (rnn_cell.MILSTM, ("h", "c"), {"memory_optimization": True}),
    (rnn_cell.LayerNormMILSTM, ("h", "c"), {}),
    (gru_cell.GRU, ("h",), {}),
    (gru_cell.GRU, ("h",), {"drop_states": True, "linear_before_reset": True}),
])
@pytest.mark.parametrize("lengths", ["lengths", None])
def test_gradients_of_cells(build, states, arguments, lengths):
    model = ModelHelper("cell")
    outputs = build(model, "x", lengths, states, DIM, UNITS, scope="cell", **arguments)
    assert len(outputs) == 2 * len(states)
    feed_inputs(states)
    add_loss(model, outputs[0])
    run(model)
    assert workspace.FetchBlob(outputs[0]).shape == (STEPS, BATCH, UNITS)
    # Small steps, as units of relu may change side and layers normalize over few.
    check_gradients(model, ["x", *states, *model.params], step=2e-3, threshold=5e-2)


def test_gru_equals_numpy():
    model = ModelHelper("gru")
    output, _ = gru_cell.GRU(model, "x", "lengths", ("h",), DIM, UNITS, scope="GRU")
    feed_inputs(("h",))
    add_loss(model, output)
    run(model)
    x, lengths, h = workspace.FetchBlobs(["x", "lengths", "h"])
    fc = lambda v, name: (  # noqa: E731
        v @ workspace.FetchBlob(f"GRU/{name}_w").T + workspace.FetchBlob(f"GRU/{name}_b"))
    h, expected = h[0], []
    for t, x_t in enumerate(x):
        x_r, x_u, x_o = np.split(fc(x_t, "i2h"), 3, axis=1)
        r, u = sigmoid(x_r + fc(h, "reset_gate_t")), sigmoid(x_u + fc(h, "update_gate_t"))
        new = u * h + (1 - u) * np.tanh(x_o + fc(r * h, "output_gate_t"))
        h = np.where((t < lengths)[:, np.newaxis], new, h)
        expected.append(h)
    np.testing.assert_allclose(workspace.FetchBlob(output), expected, rtol=1e-4, atol=1e-6)


def test_residual_layers():
    model = ModelHelper("residual")
    cells = [rnn_cell.LSTMCell(DIM if i == 0 else UNITS, UNITS, 0.0, False, name=f"cell{i}")
             for i in range(3)]
    cell = rnn_cell.MultiRNNCell(cells, residual_output_layers=[1, 2], name="stack")
    output, states = cell.apply_over_sequence(model, "x", outputs_with_grads=[0, 4, 8])
    feed_inputs(())
    add_loss(model, output)
    run(model)
    # The output is the sum of all layers; the initial states are trained parameters.
    outputs = [workspace.FetchBlob(states[4 * i]) for i in range(3)]
    np.testing.assert_allclose(workspace.FetchBlob(output), sum(outputs), rtol=1e-5)
    assert "stack/layer_1/cell1/initial_cell_state" in model.params
    check_gradients(model, ["x", *model.params])


def numpy_attention(kind, hidden, context_prev, encoder, coverage):
    """Weights [N, L] for states hidden [N, H], from the parameters of scope "att"."""
    fc = lambda v, name: (  # noqa: E731
        v @ workspace.FetchBlob(f"att/{name}_w").T + workspace.FetchBlob(f"att/{name}_b"))
    if kind == AttentionType.Dot:
        logits = np.einsum("lne,ne->nl", encoder, fc(hidden, "weighted_decoder_hidden_state"))
    else:
        total = (fc(encoder, "weighted_encoder_outputs")
                 + fc(hidden, "weighted_decoder_hidden_state"))
        if kind == AttentionType.Recurrent:
            total = total + fc(context_prev, "weighted_prev_attention_context")
        if kind == AttentionType.SoftCoverage:
            total = total + fc(encoder, "coverage_weights") * coverage.T[:, :, np.newaxis]
        logits = fc(np.tanh(total), "attention_logits")[:, :, 0].T
    weights = np.exp(logits)
    return weights / weights.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("kind", [
    AttentionType.Regular, AttentionType.Recurrent, AttentionType.Dot, AttentionType.SoftCoverage])
def test_attention(kind, optimize):
    length, encoder_dim = 4, 3
    model = ModelHelper("attention")
    outputs = rnn_cell.LSTMWithAttention(
        model, "x", "lengths", "h", "c", "context", encoder_dim, "encoder", None, DIM, UNITS,
        scope="att", attention_type=kind, lstm_memory_optimization=optimize,
        attention_memory_optimization=optimize)
    feed_inputs()
    rng = np.random.default_rng(5)
    encoder = rng.standard_normal((length, BATCH, encoder_dim)).astype(np.float32)
    workspace.FeedBlob("encoder", encoder)
    workspace.FeedBlob("context",
                       rng.standard_normal((1, BATCH, encoder_dim)).astype(np.float32))
    add_loss(model, brew.concat(model, [outputs[0], outputs[4]], "joined", axis=2))
    run(model)
    hidden, contexts = workspace.FetchBlobs([outputs[0], outputs[4]])
    context, coverage = workspace.FetchBlob("context")[0], np.zeros((BATCH, length))
    for t in range(STEPS):
        weights = numpy_attention(kind, hidden[t], context, encoder, coverage)
        context = np.einsum("nl,lne->ne", weights, encoder)
        coverage = coverage + weights
        np.testing.assert_allclose(contexts[t], context, rtol=1e-4, atol=1e-5)
    trained = [p for p in model.params if str(p) in model.grad_map]
    assert len(trained) >= len(model.params) - 1  # the bias of the logits is no parameter
    check_gradients(model, ["x", "h", "encoder", "att/decoder/gates_t_w"])


def test_unrolled_equals_recurrent():
    models, outputs = [], []
    for unroll in (None, STEPS):
        model = ModelHelper("lstm")
        output, last, _, _, params = rnn_cell.LSTM(
            model, "x", "lengths", ("h", "c"), DIM, UNITS, scope="LSTM", return_params=True,
            static_rnn_unroll_size=unroll)
        assert params["recurrent"] == {"weights": "LSTM/gates_t_w", "biases": "LSTM/gates_t_b"}
        assert len(model.params) == 4
        models.append(model)
        outputs.append([output, last])
        workspace.RunNetOnce(model.param_init_net)
    randomize_parameters(models[0])
    feed_inputs()
    nets = [model.net for model in models]
    inputs = ["x", "h", "c", *models[0].params]
    gradient_checker.NetGradientChecker.CompareNets(
        nets, outputs, [0], inputs, threshold=1e-5)
    with pytest.raises(AssertionError, match="output 1 of net lstm"):
        gradient_checker.NetGradientChecker.CompareNets(
            nets, [outputs[0], [outputs[1][0], "c"]], [0], inputs, threshold=1e-5)


def test_dropout_cell():
    model = ModelHelper("dropout")
    cell = rnn_cell.DropoutCell(rnn_cell.LSTMCell(DIM, 50, 0.0, False, name="LSTM"),
                                dropout_ratio=0.5, is_test=False, name="drop")
    output, states = cell.apply_over_sequence(model, "x")
    feed_inputs(())
    run(model)
    dropped, hidden = workspace.FetchBlobs([output, states[0]])
    kept = dropped != 0
    assert 0.4 < kept.mean() < 0.6
    np.testing.assert_allclose(dropped[kept], 2 * hidden[kept], rtol=1e-5)


def test_one_initial_value_for_two_states():
    model = ModelHelper("lstm")
    output, *_ = rnn_cell.LSTM(model, "x", None, ("zero", "zero"), DIM, UNITS, scope="LSTM")
    feed_inputs(("zero",))
    add_loss(model, output)
    run(model)
    check_gradients(model, ["zero"])


def sum_cell(name="sum"):
    """next = prev + x_t: blobs share their gradients."""
    cell = core.Net(name)
    x_t, previous, bias = cell.AddExternalInput("x_t", "previous", "bias")
    total = cell.Sum([x_t, previous, bias], "total")
    cell.AddExternalOutput(total)
    return cell, x_t, previous, total


def test_gradients_that_pass_through():
    model = ModelHelper("model")
    cell, x_t, previous, total = sum_cell()
    output, last = recurrent.recurrent_net(
        model.net, cell, [(x_t, core.BlobReference("x"))],
        [(previous, core.BlobReference("start"))], {previous: total}, scope="rnn",
        outputs_with_grads=(0,))
    add_loss(model, output)
    feed_inputs(())
    rng = np.random.default_rng(3)
    for blob, shape in (("start", (BATCH, DIM)), ("bias", (1, BATCH, DIM))):
        workspace.FeedBlob(blob, rng.standard_normal(shape).astype(np.float32))
    run(model)
    x, start, bias = workspace.FetchBlobs(["x", "start", "bias"])
    np.testing.assert_allclose(workspace.FetchBlob(output), start + np.cumsum(x + bias, axis=0),
                               rtol=1e-5, atol=1e-5)
    check_gradients(model, ["x", "start", "bias"])

    names = [name.decode() if isinstance(name, bytes) else name
             for name in recurrent.retrieve_step_blobs(model.net, "steps")]
    assert f"steps_total{STEPS - 1}" in names
    np.testing.assert_array_equal(
        workspace.FetchBlob(f"steps_total{STEPS - 1}"), workspace.FetchBlob(last))


def test_errors():
    cell, x_t, previous, total = sum_cell()
    net = core.Net("net")
    with pytest.raises(ValueError, match="one sequence, not 2"):
        recurrent.recurrent_net(net, cell, [(x_t, "x"), (x_t, "y")], [(previous, "s")],
                                {previous: total})
    with pytest.raises(ValueError, match="were given for them"):
        rnn_cell.LSTM(ModelHelper("m"), "x", None, ("h",), DIM, UNITS, scope="LSTM")
    with pytest.raises(RuntimeError, match="activation"):
        rnn_cell.BasicRNN(ModelHelper("m"), "x", None, ("h",), DIM, UNITS, scope="rnn")
    with pytest.raises(ValueError, match="runs no steps"):
        recurrent.set_rnn_executor_config(core.CreateOperator("Relu", "x", "y"), num_threads=2)
    model = ModelHelper("m")
    output, *_ = rnn_cell.LSTM(model, "x", None, ("h", "c"), DIM, UNITS, scope="LSTM",
                               forward_only=True)
    loss = model.net.SumElements(output, "loss")
    with pytest.raises(RuntimeError, match="forward pass only"):
        model.AddGradientOperators([loss])


def test_extracted_predictor():
    model = ModelHelper("lstm")
    output, *_ = rnn_cell.LSTM(model, "x", "lengths", ("h", "c"), DIM, UNITS, scope="LSTM")
    feed_inputs()
    add_loss(model, output)
    run(model)
    expected = workspace.FetchBlob(output)
    predict, parameters = ExtractPredictorNet(
        model.net.Proto(), ["x", "lengths"], [output],
        device=core.DeviceOption(DEVICE, random_seed=3),
        renames={"x": "data", "LSTM/gates_t_w": "weights", str(output): "prediction"})
    assert "weights" in parameters and "h" in parameters
    op = next(op for op in predict.Proto().op if op.type == "RecurrentNetwork")
    arguments = {argument.name: argument for argument in op.arg}
    assert "backward_step_net" not in arguments
    assert all(step.device_option.random_seed == 3 for step in arguments["step_net"].n.op)
    workspace.FeedBlob("data", workspace.FetchBlob("x"))
    workspace.FeedBlob("weights", workspace.FetchBlob("LSTM/gates_t_w"))
    workspace.RunNetOnce(predict)
    np.testing.assert_array_equal(workspace.FetchBlob("prediction"), expected)


def test_parameter_sharing():
    model = ModelHelper("shared")
    for name in ("a", "b", "c"):
        with ParameterSharing({"b": "a"}), core.NameScope(name), core.NameScope("in"):
            brew.fc(model, "x", "fc", DIM, DIM)
    assert [str(p) for p in model.params] == ["a/in/fc_w", "a/in/fc_b", "c/in/fc_w", "c/in/fc_b"]
    with pytest.raises(ValueError, match="within itself"), ParameterSharing({"a": "a/b"}):
        pass


def test_lstm_parameters_of_gates():
    model = ModelHelper("lstm")
    *_, params = rnn_cell.LSTM(model, "x", None, ("h", "c"), DIM, UNITS, scope="LSTM",
                               return_params=True)
    workspace.RunNetOnce(model.param_init_net)
    rng = np.random.default_rng(7)
    names = rnn_cell.GetLSTMParamNames()
    values = {name: rng.standard_normal((UNITS, DIM)) for name in names["weights"]}
    values.update({name: rng.standard_normal(UNITS) for name in names["biases"]})
    rnn_cell.InitFromLSTMParams(params, {"input": values})
    w = workspace.FetchBlob("LSTM/i2h_w").reshape(4, UNITS, DIM)
    np.testing.assert_allclose(w[1], values["forget_gate_w"], rtol=1e-6)
    np.testing.assert_allclose(
        workspace.FetchBlob("LSTM/i2h_b")[3 * UNITS:], values["cell_b"], rtol=1e-6)


def test_char_rnn_learns(tmp_path):
    text = tmp_path / "text.txt"
    text.write_text("the quick brown fox jumps over the lazy dog. " * 20)
    np.random.seed(1)
    model = char_rnn.CharRNN(char_rnn.ParseArguments(
        ["--train_data", str(text), "--seq_length", "10", "--batch_size", "4",
         "--hidden_size", "32"]))
    model.CreateModel()
    model.Initialize()
    losses = [model.TrainIteration() for _ in range(240)]
    assert abs(losses[0] - np.log(model.D)) < 0.5
    assert np.mean(losses[-10:]) < 0.5 * losses[0]
    assert len(model.GenerateText(20, "t")) == 21
    assert np.isfinite(model.TrainIteration())


@pytest.mark.parametrize("layers", [1, 2])
def test_cudnn_lstm_equals_numpy(layers):
    rng = np.random.default_rng(5)
    x, h, c = (rng.standard_normal(shape).astype(np.float32) for shape in (
        (STEPS, BATCH, UNITS), (layers, BATCH, UNITS), (layers, BATCH, UNITS)))
    forget = rng.standard_normal((UNITS, UNITS)).astype(np.float32)
    for name, value in (("x", x), ("h", h), ("c", c), ("forget", forget.ravel())):
        workspace.FeedBlob(name, value)
    model = ModelHelper("cudnn")
    *outputs, (extract_net, gates) = rnn_cell.cudnn_LSTM(
        model, "x", ("h", "c"), UNITS, UNITS, "lstm", num_layers=layers, return_params=True,
        recurrent_params={"forget_gate_w": "forget"})
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    workspace.RunNetOnce(extract_net)
    lengths, all_h, last = np.full(BATCH, STEPS), x, []
    for layer in range(layers):
        scope = "lstm" if layers == 1 else f"lstm/layer_{layer}"
        all_h, last_h, _, last_c = numpy_lstm(
            all_h, lengths, h[layer:layer + 1], c[layer:layer + 1], scope)
        last.append((last_h, last_c))
        np.testing.assert_array_equal(
            workspace.FetchBlob(gates["recurrent"]["forget_gate_w"][layer]), forget)
        np.testing.assert_array_equal(
            workspace.FetchBlob(gates["input"]["cell_b"][layer]),
            workspace.FetchBlob(f"{scope}/i2h_b")[3 * UNITS:])
    for blob, expected in zip(outputs, (all_h, *map(np.concatenate, zip(*last)))):
        np.testing.assert_allclose(workspace.FetchBlob(blob), expected, rtol=1e-4, atol=1e-5)


def test_gates_of_cudnn_lstm_are_in_one_scope():
    model = ModelHelper("scoped")
    with core.NameScope("outer"):
        *_, (extract_net, gates) = rnn_cell.cudnn_LSTM(
            model, "x", ("h", "c"), DIM, UNITS, "lstm", num_layers=2, return_params=True,
            recurrent_params={"cell_w": "first"})
    assert str(gates["input"]["cell_b"][1]).startswith("outer/lstm/layer_1/i2h_b")
    for net in (model.param_init_net, model.net, extract_net):
        names = [name for op in net.Proto().op for name in op.output]
        assert names and all(name.count("outer/") == 1 for name in names)


def test_arguments_of_milstm_with_attention():
    cell = rnn_cell.MILSTMWithAttentionCell(
        4, "encoder", DIM, UNITS, "decoder", rnn_cell.AttentionType.Dot, None, 0.0, False, False,
        encoder_lengths="lengths")
    assert (cell.encoder_output_dim, cell.encoder_outputs, cell.encoder_lengths) == (
        4, "encoder", "lengths")
    assert (cell.decoder_cell.input_size, cell.decoder_state_dim) == (DIM, UNITS)
    assert isinstance(cell.decoder_cell, rnn_cell.MILSTMCell)
