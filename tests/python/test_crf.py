"""The conditional random field against all labelings, one by one."""

import itertools

import numpy as np
import pytest

from caffe2.python import core, crf, crf_predict, workspace
from caffe2.python.model_helper import ModelHelper

WORDS, CLASSES = 4, 3


def score(predictions, transitions, labels):
    path = [CLASSES, *labels, CLASSES + 1]
    return (sum(row[label] for row, label in zip(predictions, labels))
            + sum(transitions[i, j] for i, j in zip(path, path[1:])))


def labelings():
    return itertools.product(range(CLASSES), repeat=WORDS)


@pytest.fixture
def fed():
    rng = np.random.default_rng(4)
    values = {
        "predictions": rng.standard_normal((WORDS, CLASSES)).astype(np.float32),
        "crf_transitions": rng.uniform(-1, 1, (CLASSES + 2, CLASSES + 2)).astype(np.float32),
        "labels": rng.integers(0, CLASSES, WORDS).astype(np.int32),
    }
    for name, value in values.items():
        workspace.FeedBlob(name, value)
    return values


def make_layer():
    model = ModelHelper("crf")
    blobs = model.net.AddExternalInputs("predictions", "labels", "crf_transitions")
    return model, crf.CRFWithLoss(model, CLASSES, blobs[2])


def test_loss_and_gradient(fed):
    model, layer = make_layer()
    loss = layer.crf_loss("predictions", "labels")
    model.AddGradientOperators([loss])
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)

    def expected():
        p, t = (workspace.FetchBlob(b).astype(np.float64) for b in (
            "predictions", "crf_transitions"))
        total = np.log(sum(np.exp(score(p, t, labels)) for labels in labelings()))
        return total - score(p, t, fed["labels"])

    workspace.RunNet(model.net)
    np.testing.assert_allclose(workspace.FetchBlob(loss), expected(), rtol=1e-4)
    for blob in ("predictions", "crf_transitions"):
        gradient, value = workspace.FetchBlob(str(model.grad_map[blob])), fed[blob]
        for index in np.ndindex(value.shape):
            losses = []
            for step in (1e-3, -1e-3):
                moved = value.copy()
                moved[index] += step
                workspace.FeedBlob(blob, moved)
                losses.append(expected())
            numeric = (losses[0] - losses[1]) / 2e-3
            assert abs(gradient[index] - numeric) < 2e-3, (blob, index)
        workspace.FeedBlob(blob, value)


def test_two_layers_in_scopes_of_their_own(fed):
    model, losses = ModelHelper("two"), []
    for scope, classes in (("first", CLASSES), ("second", CLASSES + 1)):
        with core.NameScope(scope):
            predictions = np.ones((WORDS, classes), np.float32)
            workspace.FeedBlob(f"{scope}/predictions", predictions)
            transitions = model.param_init_net.ConstantFill(
                [], "transitions", shape=[classes + 2] * 2, value=0.0)
            losses.append(crf.CRFWithLoss(model, classes, transitions).crf_loss(
                core.BlobReference(f"{scope}/predictions"), "labels"))
    workspace.FeedBlob("first/labels", fed["labels"])
    workspace.FeedBlob("second/labels", fed["labels"])
    model.AddGradientOperators(losses)
    for net in (model.param_init_net, model.net):
        names = [name for op in net.Proto().op for name in op.output]
        assert all(name.count("first/") + name.count("second/") <= 1 for name in names)
        workspace.RunNetOnce(net)
    for loss, classes in zip(losses, (CLASSES, CLASSES + 1)):
        # All labelings are alike.
        np.testing.assert_allclose(workspace.FetchBlob(loss), WORDS * np.log(classes), rtol=1e-4)


def test_predictions_follow_the_best_path(fed):
    model, layer = make_layer()
    updated = crf_predict.crf_update_predictions(model, layer, "predictions")
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    p, t = fed["predictions"], fed["crf_transitions"]
    best = max(labelings(), key=lambda labels: score(p, t, labels))
    result = workspace.FetchBlob(updated)
    np.testing.assert_array_equal(result.argmax(axis=1), best)
    np.testing.assert_array_equal(np.sort(result), np.sort(p))


def test_default_transitions_are_a_parameter():
    model = ModelHelper("crf")
    layer = crf.CRFWithLoss(model, CLASSES)
    workspace.RunNetOnce(model.param_init_net)
    assert model.params == ["crf_transitions"] and layer.transitions == "crf_transitions"
    values = workspace.FetchBlob("crf_transitions")
    assert values.shape == (CLASSES + 2, CLASSES + 2) and abs(values).max() <= 1
