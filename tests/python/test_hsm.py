"""Trees of classes: hsm_util, and HSoftmax over them."""

import numpy as np
import pytest

from caffe2.proto import hsm_pb2
from caffe2.python import core, gradient_checker, hsm_util, workspace


@pytest.fixture
def tree():
    """root -> { left -> words 0, 1; right -> words 2, 3, 4 }."""
    left = hsm_util.create_node_with_words([0, 1], "left")
    right = hsm_util.create_node_with_words([2, 3, 4], "right")
    root = hsm_util.create_node_with_nodes([left, right], "root")
    return hsm_pb2.TreeProto(root_node=root)


def test_paths_of_a_tree(tree):
    hierarchy = hsm_util.create_hierarchy(tree)
    assert hierarchy.size == 7
    paths = {path.word_id: [(node.index, node.length, node.target) for node in path.path_nodes]
             for path in hierarchy.paths}
    assert paths == {0: [(0, 2, 0), (2, 2, 0)], 1: [(0, 2, 0), (2, 2, 1)],
                     2: [(0, 2, 1), (4, 3, 0)], 3: [(0, 2, 1), (4, 3, 1)],
                     4: [(0, 2, 1), (4, 3, 2)]}
    assert [tree.root_node.offset] + [node.offset for node in tree.root_node.children] == [0, 2, 4]


def test_nodes_come_before_words(tree):
    tree.root_node.word_ids.append(9)
    word = hsm_util.create_hierarchy(tree).paths[-1]
    assert (word.word_id, word.path_nodes[0].target, word.path_nodes[0].length) == (9, 2, 3)


def test_loss_and_gradient_of_equal_classes(tree):
    # Without weights the probability of a word depends on its path only, not on the sample.
    hierarchy = hsm_util.create_hierarchy(tree)
    op = core.CreateOperator(
        "HSoftmax", ["x", "w", "b", "labels"], ["y", "p"],
        hierarchy=hierarchy.SerializeToString())
    inputs = [np.ones((2, 3), np.float32), np.zeros((7, 3), np.float32),
              np.zeros(7, np.float32), np.array([1, 4], np.int32)]
    backward, gradients = core.GradientRegistry.GetGradientForOp(op, ["y_grad", None])
    checker = gradient_checker.GradientChecker(0.01, 0.01)
    workspace.ResetWorkspace()
    loss, gradient = checker.GetLossAndGrad(
        op, backward, inputs, op.input, 2, gradients[2], [0])
    y = np.log([4, 6])
    assert loss == pytest.approx((y**2).sum() / 2)
    expected = [y[0] * -0.5 + y[1] * 0.5, y[0] * 0.5 - y[1] * 0.5, y[0] * 0.5, y[0] * -0.5,
                y[1] / 3, y[1] / 3, y[1] * -2 / 3]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5)
