"""Gradients of operators that run nets, through the Python package."""

import numpy as np
import pytest

from caffe2.python import control_ops_grad, core, workspace


def _net(name, add):
    net = core.Net(name)
    add(net)
    return net.Proto()


def _gradient(net, blob, loss):
    """The gradient of `loss` with respect to `blob`, as the net that AddGradientOperators extends
    computes it, and by central differences."""
    gradients = net.AddGradientOperators([loss])
    workspace.RunNetOnce(net)
    analytic = workspace.FetchBlob(gradients[blob])
    start, numeric, step = workspace.FetchBlob(blob), np.zeros_like(analytic), 1e-2
    for i in range(start.size):
        values = []
        for sign in (1, -1):
            moved = start.copy()
            moved.flat[i] += sign * step
            workspace.FeedBlob(blob, moved)
            workspace.RunNetOnce(net)
            values.append(workspace.FetchBlob(loss).sum())
        numeric.flat[i] = (values[0] - values[1]) / (2 * step)
    return analytic, numeric


@pytest.mark.parametrize("condition", [True, False])
def test_if(condition):
    workspace.FeedBlob("c", np.array(condition))
    workspace.FeedBlob("x", np.array([0.3, -0.7], dtype=np.float32))
    net = core.Net("conditional")
    net.If(["c", "x"], ["y"],
           then_net=_net("then", lambda n: n.Sigmoid("x", "y")),
           else_net=_net("else", lambda n: n.Mul(["x", "x"], "y")))
    net.Tanh("y", "l")
    np.testing.assert_allclose(*_gradient(net, "x", "l"), atol=1e-3)


def _loop(step):
    """y = 2 * x, then `step` three times over y, w and the counter i."""
    workspace.FeedBlob("x", np.array([0.3, -0.7], dtype=np.float32))
    workspace.FeedBlob("w", np.array([1.5, 0.8], dtype=np.float32))

    def body(net):
        names = ["y", "w", "i", "one"]
        net.Do(names + ["scope"], ["y", "i", "scope"], net=_net("step", step), inner_blobs=names,
               outer_blobs_idx=list(range(len(names))), copy_external_blobs=True)

    net = core.Net("loop")
    net.CreateScope([], "scope")
    for name, value in (("i", 3), ("one", 1), ("zero", 0)):
        net.ConstantFill([], name, shape=[1], value=value, dtype=core.DataType.INT32)
    net.ConstantFill([], "c", shape=[1], value=True, dtype=core.DataType.BOOL)
    net.Scale("x", "y", scale=2.0)
    net.While(["c", "y", "w", "i", "one", "zero"], ["y", "i", "c"], loop_net=_net("body", body),
              cond_net=_net("condition", lambda n: n.GT(["i", "zero"], "c")))
    return net


def _step(net):
    net.Copy("y", "old")
    net.Mul(["old", "w"], "product")
    net.Tanh("product", "y")
    net.Sub(["i", "one"], "i")


@pytest.mark.parametrize("blob", ["x", "w"])
def test_while_over_do(blob):
    np.testing.assert_allclose(*_gradient(_loop(_step), blob, "y"), atol=2e-3)


def test_a_value_that_is_lost_is_an_error():
    def step(net):
        net.Mul(["y", "w"], "y")
        net.Sub(["i", "one"], "i")

    message = "needs both inputs, but the output was written in place: y"
    with pytest.raises(RuntimeError, match=message):
        _loop(step).AddGradientOperators(["y"])


@pytest.mark.parametrize(("kind", "function"), [
    ("Do", control_ops_grad.gen_do_gradient), ("If", control_ops_grad.gen_if_gradient),
    ("While", control_ops_grad.gen_while_gradient)])
def test_gradients_of_single_operators(kind, function):
    """Each part equals its part of the gradient of the whole net."""
    if kind == "If":
        net = core.Net("conditional")
        net.If(["c", "x"], ["y"], then_net=_net("then", lambda n: n.Sigmoid("x", "y")),
               else_net=_net("else", lambda n: n.Mul(["x", "x"], "y")))
    else:
        net = _loop(_step)
    op = net.Proto().op[-1]
    if kind == "Do":
        op = next(arg.n.op[-1] for arg in op.arg if arg.name == "loop_net")
    gradients = [core.BlobReference("y_grad") if blob == "y" else None for blob in op.output]
    operators, inputs = function(op, gradients)
    assert kind in [gradient.type for gradient in operators]
    assert len(inputs) == len(op.input)
    grown = dict(zip(op.input, inputs))
    assert grown["x" if kind == "If" else "w"] is not None
    op.type = "Other"
    with pytest.raises(ValueError, match=f"the operator is Other, not {kind}"):
        function(op, gradients)
