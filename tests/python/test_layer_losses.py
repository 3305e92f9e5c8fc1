"""Losses of layer models, and layers that weigh them, against numpy."""

import numpy as np
import pytest

from caffe2.python import layer_model_instantiator, optimizer, schema, workspace
from caffe2.python.layer_model_helper import LayerModelHelper
from caffe2.python.layers.batch_softmax_loss import BatchSoftmaxLoss
from caffe2.python.layers.label_smooth import LabelSmooth
from caffe2.python.layers.tags import Tags

ROWS = 5


@pytest.fixture
def model():
    workspace.ResetWorkspace()
    return LayerModelHelper("losses", schema.Struct(), schema.Struct())


@pytest.fixture
def random():
    return np.random.default_rng(2)


def record(model, **columns):
    """A record of arrays, one row each, fed to the workspace."""
    arrays = {name: np.asarray(value) for name, value in columns.items()}
    fields = schema.NewRecord(model.net, schema.Struct(*[
        (name, schema.Scalar((array.dtype, array.shape[1:]))) for name, array in arrays.items()]))
    schema.FeedRecord(fields, list(arrays.values()))
    return fields


def value(model, output):
    """What a forward run of the training net gives."""
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    workspace.RunNetOnce(net)
    model.clear_output_schema()
    return workspace.FetchBlob(output())


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def cross_entropy(p, y):
    return -(y * np.log(p) + (1 - y) * np.log(1 - p))


def test_squared_error(model, random):
    label, prediction = random.standard_normal(ROWS), random.standard_normal((ROWS, 1))
    weight = random.random(ROWS)
    plain = model.BatchMSELoss(record(
        model, label=label, prediction=prediction.astype(np.float32)))
    weighted = model.BatchMSELoss(record(
        model, label=label.astype(np.float32), prediction=prediction.astype(np.float32),
        weight=weight))
    errors = (label - prediction[:, 0]) ** 2 / 2
    np.testing.assert_allclose(value(model, plain), errors.mean(), rtol=1e-5)
    np.testing.assert_allclose(value(model, weighted), (errors * weight).mean(), rtol=1e-5)
    assert all(Tags.EXCLUDE_FROM_PREDICTION in layer.tags for layer in model.layers)


def test_huber_loss(model, random):
    label = random.standard_normal(ROWS).astype(np.float32)
    prediction = label[:, None] + np.array([[0.1], [-0.2], [3], [-4], [0.5]], np.float32)
    weight = random.random(ROWS).astype(np.float32)
    loss = model.BatchHuberLoss(
        record(model, label=label, prediction=prediction, weight=weight), delta=0.5)
    distance = np.abs(prediction[:, 0] - label)
    expected = np.where(distance <= 0.5, distance ** 2 / 2, 0.5 * (distance - 0.25))
    np.testing.assert_allclose(value(model, loss), (expected * weight).mean(), rtol=1e-4)
    with pytest.raises(AssertionError, match="delta must be above 0"):
        model.BatchHuberLoss(record(model, label=label, prediction=prediction), delta=0)


def test_sigmoid_cross_entropy(model, random):
    label = random.random((ROWS, 3)).astype(np.float32)
    logit = random.standard_normal((ROWS, 3)).astype(np.float32)
    loss = model.BatchSigmoidCrossEntropyLoss(record(model, label=label, prediction=logit))
    np.testing.assert_allclose(
        value(model, loss), cross_entropy(sigmoid(logit), label).mean(), rtol=1e-5)
    with pytest.raises(AssertionError, match="same shape"):
        model.BatchSigmoidCrossEntropyLoss(record(model, label=label[:, :2], prediction=logit))
    with pytest.raises(AssertionError, match="needs the columns"):
        model.BatchSigmoidCrossEntropyLoss(record(model, label=label))


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def test_softmax_loss(model, random):
    label = np.array([0, 2, 1, 1, 0])
    logit = random.standard_normal((ROWS, 3)).astype(np.float32)
    weight = random.random(ROWS).astype(np.float32)
    probabilities = softmax(logit)
    losses = -np.log(probabilities[np.arange(ROWS), label])
    plain = model.BatchSoftmaxLoss(record(model, label=label, prediction=logit))
    np.testing.assert_allclose(value(model, plain.loss), losses.mean(), rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob(plain.softmax()), probabilities, rtol=1e-5)
    weighted = model.BatchSoftmaxLoss(
        record(model, label=label, prediction=logit, weight=weight), scale=2.0)
    np.testing.assert_allclose(
        value(model, weighted.loss), 2 * (losses * weight).sum() / weight.sum(), rtol=1e-5)
    by_rows = model.BatchSoftmaxLoss(
        record(model, label=label, prediction=logit, weight=weight), average_by_batch_size=True)
    np.testing.assert_allclose(value(model, by_rows.loss), (losses * weight).mean(), rtol=1e-5)
    matrix = np.array([[0.8, 0.1, 0.1], [0, 1, 0], [0.25, 0.25, 0.5]])
    smoothed = model.BatchSoftmaxLoss(
        record(model, label=label, prediction=logit), label_smoothing_matrix=matrix)
    np.testing.assert_allclose(
        value(model, smoothed.loss), -(matrix[label] * np.log(probabilities)).sum(axis=1).mean(),
        rtol=1e-5)
    with pytest.raises(AssertionError, match="not square"):
        model.BatchSoftmaxLoss(record(model, label=label, prediction=logit),
                               label_smoothing_matrix=matrix[:2])


def lr_columns(random):
    logit = random.standard_normal((ROWS, 1)).astype(np.float32)
    return {"label": np.array([0, 1, 1, 0, 1], np.float32), "logit": logit,
            "prediction": sigmoid(logit).astype(np.float32)}


def bernoulli_jsd(p, q):
    m = (p + q) / 2

    def entropy(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return -np.nan_to_num(x * np.log(x)) - np.nan_to_num((1 - x) * np.log(1 - x))

    return entropy(m) - (entropy(p) + entropy(q)) / 2


def test_logistic_regression(model, random):
    columns = lr_columns(random)
    p, y = columns["prediction"][:, 0].astype(np.float64), columns["label"]
    entropy = cross_entropy(p, y)
    weight = random.random(ROWS)
    variance = random.standard_normal(ROWS).astype(np.float32)
    smooth = np.where(y > 0.5, 0.9, 0.2)
    for arguments, extra, expected in (
            ({}, {}, entropy.mean()),
            ({"average_loss": False}, {}, entropy.sum()),
            ({}, {"weight": weight}, (entropy * weight).mean()),
            ({"pos_label_target": 0.9, "neg_label_target": 0.2}, {},
             cross_entropy(p, smooth).mean()),
            ({"focal_gamma": 2.0}, {}, entropy.mean() * ((y - p) ** 2).mean()),
            ({"focal_gamma": 2.0, "stop_grad_in_focal_factor": True}, {},
             entropy.mean() * ((y - p) ** 2).mean()),
            ({"jsd_weight": 0.25}, {}, (0.75 * entropy + 0.25 * bernoulli_jsd(p, y)).mean()),
            ({"task_gamma": 0.5}, {}, 0.5 * 0.5 * entropy.mean()),
            ({"uncertainty_penalty": 3.0}, {"log_variance": variance},
             0.5 * (np.exp(-variance).mean() * entropy.mean() + 3 * variance.mean()))):
        loss = model.BatchLRLoss(record(model, **columns, **extra), **arguments)
        if "task_gamma" in arguments:  # the factor is applied once more in each run
            value(model, loss)
            expected *= 2
        np.testing.assert_allclose(
            value(model, loss), expected, rtol=1e-4, err_msg=str(arguments))


def test_logistic_regression_moves_to_jsd(model, random):
    columns = lr_columns(random)
    loss = model.BatchLRLoss(record(model, **columns), homotopy_weighting=True)
    p, y = columns["prediction"][:, 0], columns["label"]
    share = (1 + 1e-6) ** -0.1
    np.testing.assert_allclose(
        value(model, loss),
        (share * cross_entropy(p, y) + (1 - share) * bernoulli_jsd(p, y)).mean(), rtol=1e-4)
    layer = model.layers[-1]
    assert workspace.FetchBlob(layer.counter) == [1]
    np.testing.assert_allclose(workspace.FetchBlob(layer.xent_weight), [share], rtol=1e-6)


def test_logistic_regression_refuses_bad_arguments(model, random):
    columns = lr_columns(random)
    for arguments, message in (
            ({"jsd_weight": 2}, "jsd_weight must be in"),
            ({"pos_label_target": 0.2, "neg_label_target": 0.3}, "targets must be"),
            ({"log_D_trick": True, "unjoined_lr_loss": True}, "cannot be used together"),
            ({"uncertainty_penalty": -1}, "uncertainty_penalty")):
        with pytest.raises(AssertionError, match=message):
            model.BatchLRLoss(record(model, **columns), **arguments)
    del columns["prediction"]
    with pytest.raises(AssertionError, match="needs the column prediction"):
        model.BatchLRLoss(record(model, **columns), jsd_weight=0.5)
    with pytest.raises(AssertionError, match="focal_gamma 2.0.* needs the column prediction"):
        model.BatchLRLoss(record(model, **columns), focal_gamma=2.0)
    assert not model.layers and not model.params


def rank_record(model):
    fields = schema.NewRecord(model.net, schema.Struct(
        ("pos_prediction", schema.Scalar((np.float32, (1,)))),
        ("neg_prediction", schema.List(np.float32))))
    positive = np.array([0.8, 0.9, 0.1], np.float32)
    lengths = np.array([1, 0, 2], np.int32)
    negative = np.array([0.75, 0.3, 0.05], np.float32)
    schema.FeedRecord(fields, [positive, lengths, negative])
    return fields, np.repeat(positive, lengths) - negative


def test_ranking_losses(model):
    fields, differences = rank_record(model)
    np.testing.assert_allclose(
        value(model, model.BPRLoss(fields)), -np.log(sigmoid(differences)).sum(), rtol=1e-5)
    hinges = np.maximum(0, 0.2 - differences)
    np.testing.assert_allclose(
        value(model, model.MarginRankLoss(fields, margin=0.2)), hinges.sum(), rtol=1e-5)
    np.testing.assert_allclose(
        value(model, model.MarginRankLoss(fields, margin=0.2, average_loss=True)), hinges.mean(),
        rtol=1e-5)
    with pytest.raises(AssertionError, match="margin"):
        model.MarginRankLoss(fields, margin=-1)


def test_smoothed_labels(model):
    label = record(model, label=np.array([0, 1, 2, 1], np.float32)).label
    matrix = np.array([[0.8, 0.1, 0.1], [0, 1, 0], [0.25, 0.25, 0.5]], np.float32)
    np.testing.assert_allclose(
        value(model, model.LabelSmooth(label, matrix)), matrix[[0, 1, 2, 1]])
    binary = record(model, label=np.array([0, 1, 1], np.int32)).label
    np.testing.assert_allclose(
        value(model, model.LabelSmooth(binary, [0.1, 0.8])), np.float32([0.1, 0.8, 0.8]))
    with pytest.raises(AssertionError, match="not square"):
        model.LabelSmooth(label, [1, 2, 3])


def test_subclasses_can_change_how_labels_are_smoothed(model):
    class Doubled(LabelSmooth):
        def set_smooth_matrix(self, smooth_matrix):
            super().set_smooth_matrix(2 * smooth_matrix)

    class Reversed(BatchSoftmaxLoss):
        def initialize_label_smoothing_constants(self):
            self.label_smoothing_matrix = self.label_smoothing_matrix[::-1]
            super().initialize_label_smoothing_constants()

        def compute_smoothed_label(self, net):
            self.smoothed = super().compute_smoothed_label(net)
            return self.smoothed

    fields = record(model, label=np.array([0, 1, 1], np.int32),
                    prediction=np.eye(3, 2, dtype=np.float32))
    for matrix, expected in (([0.1, 0.8], [0.2, 1.6, 1.6]),
                             ([[1, 0], [0.5, 0.5]], [[2, 0], [1, 1], [1, 1]])):
        layer = Doubled(model, fields.label, matrix)
        np.testing.assert_allclose(value(model, model.add_layer(layer)), np.float32(expected))
    layer = Reversed(model, fields, label_smoothing_matrix=[[0.9, 0.1], [0.2, 0.8]])
    probabilities = np.array([[0.2, 0.8], [0.9, 0.1], [0.9, 0.1]])
    expected = -(probabilities * np.log(softmax(np.eye(3, 2)))).sum(axis=1).mean()
    np.testing.assert_allclose(value(model, model.add_layer(layer).loss), expected, rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob(layer.smoothed), probabilities, rtol=1e-6)


def losses_record(model, values):
    fields = schema.NewRecord(model.net, schema.RawTuple(len(values)))
    schema.FeedRecord(fields, [np.array(x, np.float32) for x in values])
    return fields


def test_constant_weights(model):
    fields = losses_record(model, [1.0, 2.0, 5.0])
    np.testing.assert_allclose(value(model, model.ConstantWeight(fields)), 8 / 3, rtol=1e-6)
    np.testing.assert_allclose(
        value(model, model.ConstantWeight(fields, weights=[1, 0.5, -1])), -3.0)
    with pytest.raises(AssertionError, match="one weight for each of the 3 .*, found 2"):
        model.ConstantWeight(fields, weights=[1, 2])
    with pytest.raises(AssertionError, match="at least one column to sum"):
        model.ConstantWeight(schema.Struct())
    with pytest.raises(AssertionError, match="a column for each loss"):
        model.AdaptiveWeight(schema.Struct())


@pytest.mark.parametrize("method", ["log_std", "inv_var"])
def test_adaptive_weights_are_trained(model, method):
    losses, weights = np.array([1.0, 4.0]), np.array([0.25, 0.5])
    model.default_optimizer = optimizer.SgdOptimizer(base_learning_rate=0.1)
    total = model.AdaptiveWeight(
        losses_record(model, losses), weights=weights, estimation_method=method,
        pos_optim_method="pos_grad_proj", enable_diagnose=True)
    np.testing.assert_allclose(
        value(model, total), (weights * losses + 0.5 * np.log(1 / (2 * weights))).sum(), rtol=1e-5)
    plotted = [workspace.FetchBlob(blob) for blob in model.ad_hoc_plot_blobs]
    np.testing.assert_allclose(np.ravel(plotted), weights, rtol=1e-6)
    model.add_loss(total)
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets(model)
    workspace.RunNetOnce(init_net)
    workspace.RunNetOnce(net)
    if method == "log_std":
        mu = np.log(1 / (2 * weights))
        expected = mu - 0.1 * (-0.5 * np.exp(-mu) * losses + 0.5)
        trained = workspace.FetchBlob(model.layers[0].mu)
    else:
        k = 2 * weights
        expected = k - 0.1 * (0.5 * losses - 0.5 / k)
        trained = workspace.FetchBlob(model.layers[0].k)
    np.testing.assert_allclose(trained, expected, rtol=1e-5)


def test_homotopy_passes_from_one_loss_to_the_other(model):
    result = model.HomotopyWeight(
        losses_record(model, [3.0, 7.0]), min_weight=0.25, max_weight=1.25, half_life=20,
        quad_life=60)
    model.output_schema = schema.Struct()
    init_net, net = layer_model_instantiator.generate_training_nets_forward_only(model)
    workspace.RunNetOnce(init_net)
    workspace.CreateNet(net)
    workspace.RunNet(net, num_iter=20)
    np.testing.assert_allclose(workspace.FetchBlob(result()), 0.75 * (3 + 7), rtol=1e-5)
    workspace.RunNet(net, num_iter=40)
    np.testing.assert_allclose(workspace.FetchBlob(result()), 0.5 * 3 + 1.0 * 7, rtol=1e-2)
    with pytest.raises(AssertionError, match="not above twice"):
        model.HomotopyWeight(losses_record(model, [1.0, 2.0]), half_life=2, quad_life=4)
