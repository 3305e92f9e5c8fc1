"""Regularizers against numpy."""

import numpy as np
import pytest

from caffe2.python import core, regularizer, workspace
from caffe2.python.regularizer import RegularizationBy


@pytest.fixture
def w():
    workspace.ResetWorkspace()
    value = np.random.default_rng(1).standard_normal((3, 6)).astype(np.float32)
    workspace.FeedBlob("w", value)
    return value


def term(reg):
    """The value of the term on the loss."""
    init_net, net = core.Net("init"), core.Net("net")
    blob = reg(net, init_net, core.BlobReference("w"), by=RegularizationBy.ON_LOSS)
    workspace.RunNetOnce(init_net)
    workspace.RunNetOnce(net)
    return float(workspace.FetchBlob(blob).reshape(()))


def updated(reg, grad=None):
    """The parameter after the step that follows the optimizer."""
    init_net, net = core.Net("init"), core.Net("net")
    assert reg(net, init_net, core.BlobReference("w"), grad,
               by=RegularizationBy.AFTER_OPTIMIZER) is None
    workspace.RunNetOnce(net)
    return workspace.FetchBlob("w")


def rows(*indices):
    workspace.FeedBlob("i", np.array(indices, np.int64))
    workspace.FeedBlob("g", np.zeros((len(indices), 6), np.float32))
    return core.GradientSlice(core.BlobReference("i"), core.BlobReference("g"))


def trimmed(w, k):
    return np.sort(np.abs(w[0]))[:-k].sum()


def test_terms_on_the_loss(w):
    norms = np.sqrt((w ** 2).sum(axis=0))
    sizes = [2, 1, 3]
    groups = np.split(w, [2, 3], axis=1)
    for reg, expected in (
            (regularizer.L1Norm(0.5), 0.5 * np.abs(w).sum()),
            (regularizer.L2Norm(0.5), 0.5 * (w ** 2).sum()),
            (regularizer.ElasticNet(0.5, 0.25), 0.5 * np.abs(w).sum() + 0.25 * (w ** 2).sum()),
            (regularizer.LpNorm(2.0, p_value=0.5), 2 * (norms ** 0.5).sum() ** 2),
            (regularizer.L0ApproxNorm(2.0, alpha=1.2), 2 * np.minimum(norms, 1.2).sum() / 1.2),
            (regularizer.L0ApproxNorm(2.0, alpha=1.2, budget=3),
             2 * max(0, np.minimum(norms, 1.2).sum() / 1.2 - 3)),
            (regularizer.GroupL1Norm(0.5, sizes),
             0.5 * sum(np.sqrt(n * (g ** 2).sum()) for n, g in zip(sizes, groups))),
            (regularizer.GroupL1Norm(0.5, sizes, stabilizing_val=0.25),
             0.5 * sum(np.sqrt(n * ((g ** 2).sum() + 0.25)) for n, g in zip(sizes, groups)))):
        np.testing.assert_allclose(term(reg), expected, rtol=1e-4)
    assert regularizer.Regularizer()(
        core.Net("net"), core.Net("init"), core.BlobReference("w"),
        by=RegularizationBy.ON_LOSS) is None


def test_trimmed_terms(w):
    workspace.FeedBlob("w", w[0])
    np.testing.assert_allclose(
        term(regularizer.L1NormTrimmed(0.5, 2)), 0.5 * trimmed(w, 2), rtol=1e-5)
    np.testing.assert_allclose(
        term(regularizer.ElasticNetL1NormTrimmed(0.5, 0.25, 2)),
        0.5 * trimmed(w, 2) + 0.25 * (w[0] ** 2).sum(), rtol=1e-5)


def test_log_barrier_falls_with_the_iterations(w):
    positive = np.abs(w) + 0.1
    workspace.FeedBlob("w", positive)
    reg = regularizer.LogBarrier(0.5)
    init_net, net = core.Net("init"), core.Net("net")
    blob = reg(net, init_net, core.BlobReference("w"), by=RegularizationBy.ON_LOSS)
    workspace.RunNetOnce(init_net)
    workspace.CreateNet(net)
    for iteration in (1, 2, 3):
        workspace.RunNet(net)
        np.testing.assert_allclose(
            workspace.FetchBlob(blob), -0.5 / (1 + iteration) * np.log(positive).sum(), rtol=1e-4)
    workspace.FeedBlob("w", w)
    np.testing.assert_allclose(updated(reg), np.maximum(w, 1e-9))


def test_bounds(w):
    np.testing.assert_array_equal(
        updated(regularizer.BoundedGradientProjection(lb=-0.5, ub=0.5)), np.clip(w, -0.5, 0.5))
    workspace.FeedBlob("w", w)
    open_ends = regularizer.BoundedGradientProjection(
        lb=-0.5, ub=0.5, left_open=True, right_open=True, epsilon=0.125)
    np.testing.assert_array_equal(updated(open_ends), np.clip(w, -0.375, 0.375))
    workspace.FeedBlob("w", w)
    expected = w.copy()
    expected[[2, 0]] = np.maximum(w[[2, 0]], 0)
    np.testing.assert_array_equal(
        updated(regularizer.BoundedGradientProjection(lb=0), rows(2, 0)), expected)


def test_rows_of_sparse_gradients(w):
    norms = np.sqrt((w[[0, 2]] ** 2).sum(axis=1, keepdims=True))
    for reg, changed in (
            (regularizer.MaxNorm(1.5), w[[0, 2]] * np.minimum(1, 1.5 / norms)),
            (regularizer.ConstantNorm(1.5), w[[0, 2]] * 1.5 / norms),
            (regularizer.SparseL2Norm(0.25), w[[0, 2]] * 0.75),
            (regularizer.SparseL1Norm(0.25),
             np.sign(w[[0, 2]]) * np.maximum(np.abs(w[[0, 2]]) - 0.25, 0))):
        workspace.FeedBlob("w", w)
        expected = w.copy()
        expected[[0, 2]] = changed
        np.testing.assert_allclose(updated(reg, rows(0, 2)), expected, rtol=1e-5, atol=1e-6)
        with pytest.raises(NotImplementedError, match="dense parameters"):
            updated(reg)


def test_rows_of_half_precision(w):
    half = w.astype(np.float16)
    workspace.FeedBlob("w", half)
    norms = np.sqrt((half.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    expected = half.astype(np.float64)
    expected[[0, 2]] *= np.minimum(1, 0.5 / norms[[0, 2]])
    shrunk = updated(regularizer.MaxNorm(0.5, dtype="fp16"), rows(0, 2))
    assert shrunk.dtype == np.float16 and norms.min() > 0.5
    np.testing.assert_allclose(shrunk, expected, rtol=2e-3, atol=1e-4)
    np.testing.assert_array_equal(shrunk[1], half[1])


def test_misuse_is_refused(w):
    for make, message in (
            (lambda: regularizer.L1Norm(-1), "reg_lambda must be at least 0"),
            (lambda: regularizer.LpNorm(0), "reg_lambda must be above 0"),
            (lambda: regularizer.L0ApproxNorm(1, alpha=0), "alpha must be above 0"),
            (lambda: regularizer.L1NormTrimmed(1, 0), "k must be an integer"),
            (lambda: regularizer.ElasticNetL1NormTrimmed(1, 1, 0), "k must be an integer"),
            (lambda: regularizer.ElasticNetL1NormTrimmed(1, 1, 1.5), "k must be an integer"),
            (lambda: regularizer.SparseLpNorm(3, 1), "p must be"),
            (lambda: regularizer.MaxNorm(0), "norm must be above 0"),
            (lambda: regularizer.BoundedGradientProjection(lb=1, ub=0), "no number lies between")):
        with pytest.raises(ValueError, match=message):
            make()
    with pytest.raises(ValueError, match="acts after_optimizer or on_loss, not None"):
        regularizer.L1Norm(1)(core.Net("n"), core.Net("i"), core.BlobReference("w"))
    with pytest.raises(TypeError, match="BlobReference"):
        regularizer.L1Norm(1)(core.Net("n"), core.Net("i"), "w", by=RegularizationBy.ON_LOSS)
