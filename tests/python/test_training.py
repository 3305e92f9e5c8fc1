"""`fit` and `evaluate`: models trained on arrays, against the same steps in numpy."""

import numpy as np
import pytest

from caffe2.python import brew, optimizer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.training import evaluate, fit

ROWS = 10


@pytest.fixture(autouse=True)
def empty_workspace():
    workspace.ResetWorkspace()


@pytest.fixture
def examples():
    rng = np.random.RandomState(3)
    x = rng.randn(ROWS, 3)
    return {"x": x, "target": x @ np.array([[1.0], [-2.0], [0.5]]) + 0.25}


def linear(train=True, rate=0.1):
    model = ModelHelper("train" if train else "test", init_params=train)
    brew.fc(model, "x", "y", 3, 1)
    distance = model.net.SquaredL2Distance(["y", "target"], "distance")
    loss = model.net.AveragedLoss(distance, "loss")
    if train:
        model.AddGradientOperators([loss])
        optimizer.build_sgd(model, base_learning_rate=rate)
    return model


def mean_loss(x, target, weights, bias):
    return float(np.mean(0.5 * (x @ weights.T + bias - target) ** 2))


def test_the_steps_are_those_of_numpy(examples):
    """Epochs of 4, 4 and 2 rows in their order, and the means over all rows."""
    model = linear()
    model.RunInit()
    weights, bias = (workspace.FetchBlob(blob).astype(float) for blob in ("y_w", "y_b"))
    history = fit(model, examples, epochs=3, batch_size=4, shuffle=False, test_model=linear(False),
                  test_inputs=examples, log=None)
    for epoch, found in enumerate(history, 1):
        total = 0.0
        for begin in range(0, ROWS, 4):
            x, target = (examples[blob][begin:begin + 4] for blob in ("x", "target"))
            total += len(x) * mean_loss(x, target, weights, bias)
            error = (x @ weights.T + bias - target) / len(x)
            weights, bias = weights - 0.1 * error.T @ x, bias - 0.1 * error.sum(0)
        assert found["epoch"] == epoch and found["seconds"] > 0
        assert found["loss"] == pytest.approx(total / ROWS, rel=1e-4)
        tested = mean_loss(examples["x"], examples["target"], weights, bias)
        assert found["test_loss"] == pytest.approx(tested, rel=1e-4)
    np.testing.assert_allclose(workspace.FetchBlob("y_w"), weights, rtol=1e-4, atol=1e-6)


def test_a_second_call_goes_on(examples):
    model = linear()
    first = fit(model, examples, epochs=2, log=None)
    second = fit(model, examples, epochs=1, log=None)
    assert second[0]["loss"] < first[1]["loss"] < first[0]["loss"]
    found = evaluate(linear(False), examples, batch_size=3)
    x, target = examples["x"], examples["target"]
    weights, bias = workspace.FetchBlob("y_w"), workspace.FetchBlob("y_b")
    assert found == {"loss": pytest.approx(mean_loss(x, target, weights, bias), rel=1e-4)}


def test_each_epoch_has_all_rows_in_another_order(examples):
    """The order is a function of the seed. Every epoch sees each row once."""
    def orders(seed):
        workspace.ResetWorkspace()
        seen = []
        feed = workspace.FeedBlob

        def note(blob, array):
            if blob == "x":
                seen.append(array)
            return feed(blob, array)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(workspace, "FeedBlob", note)
            fit(linear(), examples, epochs=2, batch_size=4, seed=seed, log=None)
        rows = np.concatenate(seen[1:])  # the first makes the net
        return rows[:ROWS], rows[ROWS:]

    (first, second), (again, _), (other, _) = orders(1), orders(1), orders(2)
    x = examples["x"].astype(np.float32)
    for rows in (first, second, other):
        assert sorted(map(tuple, rows)) == sorted(map(tuple, x))
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, x)
    assert not np.array_equal(first, second) and not np.array_equal(first, other)


def test_images_and_labels_of_numpys_types():
    """Three classes that a net tells apart, with labels of int64 and a line for each epoch."""
    rng = np.random.RandomState(1)
    label = rng.randint(3, size=300)
    points = np.eye(3)[label] * 2 + 0.3 * rng.randn(300, 3)
    model = ModelHelper("classes")
    brew.fc(model, "points", "scores", 3, 3)
    softmax, loss = model.net.SoftmaxWithLoss(["scores", "label"], ["softmax", "loss"])
    brew.accuracy(model, [softmax, "label"], "accuracy")
    model.AddGradientOperators([loss])
    optimizer.build_adam(model, base_learning_rate=0.1)
    lines = []
    history = fit(model, {"points": points, "label": label}, epochs=4, batch_size=50,
                  metrics=[loss, "accuracy"], log=lines.append)
    assert history[-1]["accuracy"] > 0.95
    assert len(lines) == 4
    assert lines[3].startswith(f"epoch 4/4: loss {history[3]['loss']:.4f}, accuracy ")
    assert lines[3].endswith(" examples/s")


@pytest.mark.parametrize("change, message", [
    ({"inputs": {}}, "fit: inputs is empty: give {blob: array}"),
    ({"inputs": {"x": np.zeros((4, 3)), "target": np.zeros((5, 1))}},
     "fit: all inputs must have as many rows: x 4, target 5"),
    ({"inputs": {"x": np.zeros((0, 3)), "target": np.zeros((0, 1))}},
     r"fit: input x has no rows: its shape is \(0, 3\)"),
    ({"inputs": {"x": np.float32(3)}}, r"fit: input x has no rows: its shape is \(\)"),
    ({"inputs": {"x": np.zeros((4, 3))}},
     "fit: model train reads target, which inputs do not give"),
    ({"inputs": {"x": np.zeros((4, 3)), "traget": np.zeros((4, 1))}},
     "fit: model train does not read traget; its inputs are x, target"),
    ({"epochs": 0}, "epochs is 0, must be a whole number from 1 on"),
    ({"batch_size": 2.5}, "batch_size is 2.5, must be a whole number from 1 on"),
    ({"metrics": ["lost"]}, "fit: model train does not make the metric lost"),
    ({"metrics": ["y"]}, r"metric y has the shape \(10, 1\), must be one number"),
    ({"model": linear(False)}, "fit: model test updates no parameter: call AddGradientOperators"),
    ({"model": "train"}, "fit: the model is a str, must be a ModelHelper"),
    ({"test_model": linear(False)}, "fit: test_model and test_inputs are given together"),
    ({"test_model": linear(), "test_inputs": {}},
     "fit: test_model: model train changes its parameters"),
])
def test_arguments_that_cannot_work(change, message, examples):
    arguments = {"model": linear(), "inputs": examples, "log": None, **change}
    with pytest.raises(ValueError, match=f"^{message}"):
        fit(**arguments)


def test_a_model_that_trains_is_not_evaluated(examples):
    with pytest.raises(ValueError, match="^evaluate: model train changes its parameters"):
        evaluate(linear(), examples)


def test_a_model_without_parameters_is_not_evaluated(examples):
    """A net that is never initialized: its parameters must be in the workspace."""
    with pytest.raises(ValueError, match="^evaluate: model test reads y_w, y_b, which inputs do"):
        evaluate(linear(False), examples)
    assert workspace.Blobs() == []


def test_a_wrong_seed_leaves_the_workspace_alone(examples):
    with pytest.raises(ValueError):
        fit(linear(), examples, seed=-1, log=None)
    assert workspace.Blobs() == []


@pytest.mark.parametrize("inputs", [[1, 2], (np.ones((2, 3)), np.ones((2, 1))), np.ones((2, 3)),
                                    None, "x"])
def test_inputs_without_names_are_refused_with_the_names(inputs):
    with pytest.raises(ValueError) as error:
        fit(linear(), inputs, log=None)
    assert str(error.value) == (f"fit: inputs is a {type(inputs).__name__}, must be a dict {{blob: "
                                'array}, such as {"x": ..., "target": ...}')
    with pytest.raises(ValueError, match='^evaluate: inputs is a .* such as {"x": ..., "target"'):
        evaluate(linear(False), inputs)


def test_an_input_that_is_no_array(examples):
    with pytest.raises(ValueError, match="^fit: input x is no array: .*inhomogeneous"):
        fit(linear(), {**examples, "x": [[1.0], [2.0, 3.0]]}, log=None)


def test_metrics_and_log_of_a_wrong_type(examples):
    with pytest.raises(ValueError, match="^fit: metrics is None, must be a list of blobs"):
        fit(linear(), examples, metrics=None, log=None)
    with pytest.raises(ValueError, match="^fit: log is True, must be a function"):
        fit(linear(), examples, log=True)
    model = linear()
    loss = model.net.GetBlobRef("loss")
    assert fit(model, examples, metrics=loss, log=None)[0]["loss"] > 0
