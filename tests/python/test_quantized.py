"""Quantized tensors in workspaces, and parameters that optimizers keep at zero."""

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import core, optimizer, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import Initializer

LEVELS = np.uint8([[0, 100, 255], [1, 2, 3]])


def test_feed_and_fetch():
    workspace.FeedBlob("q", workspace.Int8Tensor(LEVELS, 0.5, 100))
    fetched = workspace.FetchInt8Blob("q")
    np.testing.assert_array_equal(fetched.data, LEVELS)
    assert fetched.data.dtype == np.uint8 and fetched[1:] == (0.5, 100)
    real = workspace.FetchInt8BlobRealVal("q")
    np.testing.assert_array_equal(real, 0.5 * (LEVELS.astype(np.float32) - 100))
    assert real.dtype == np.float32
    workspace.FeedBlob("bias", workspace.Int8Tensor(np.int32([-70000, 2]), 0.25, 0))
    np.testing.assert_array_equal(workspace.FetchInt8Blob("bias").data, [-70000, 2])
    data, scale, zero_point = workspace.FetchBlob("q")  # as in Caffe2, a plain tuple
    assert (data == LEVELS).all() and (scale, zero_point) == (0.5, 100)


def test_what_is_no_quantized_tensor():
    workspace.FeedBlob("x", np.zeros(2, np.float32))
    with pytest.raises(TypeError, match="no quantized tensor"):
        workspace.FetchInt8Blob("x")
    with pytest.raises(TypeError, match="float32"):
        workspace.FeedBlob("q", workspace.Int8Tensor(np.zeros(2, np.float32), 1, 0))
    with pytest.raises(TypeError, match="array"):
        workspace.FeedBlob("q", workspace.Int8Tensor([1, 2], 1, 0))
    workspace.FeedBlob("y", (1, 2, 3))  # other tuples are lists of numbers
    assert workspace.FetchBlob("y").tolist() == [1, 2, 3]
    with pytest.raises(RuntimeError, match="Int8TensorCPU"):
        workspace.RunOperatorOnce(core.CreateOperator("Int8Relu", "x", "y"))


def test_what_was_not_loaded_is_named():
    workspace.FeedBlob("q", workspace.Int8Tensor(LEVELS, 0.5, 100))
    forged = caffe2_pb2.BlobProto.FromString(workspace.SerializeBlob("q"))
    forged.qtensor.data_type = caffe2_pb2.TensorProto.FLOAT
    with pytest.raises(RuntimeError, match="elements of type FLOAT"):
        workspace.DeserializeBlob("broken", forged.SerializeToString())
    with pytest.raises(RuntimeError, match="blob broken"):
        workspace.FetchBlob("broken")


def test_saved_and_loaded(tmp_path):
    workspace.FeedBlob("q", workspace.Int8Tensor(LEVELS, 0.5, 100))
    target = {"db": str(tmp_path / "q.minidb"), "db_type": "minidb", "absolute_path": True}
    workspace.RunOperatorOnce(core.CreateOperator("Save", "q", [], **target))
    bytes_of = workspace.SerializeBlob("q")
    workspace.ResetWorkspace()
    workspace.RunOperatorOnce(core.CreateOperator("Load", [], "q", **target))
    assert workspace.SerializeBlob("q") == bytes_of
    workspace.DeserializeBlob("copy", bytes_of)
    np.testing.assert_array_equal(workspace.FetchInt8Blob("copy").data, LEVELS)


def test_shapes_are_inferred():
    net = core.Net("net")
    net.Int8Quantize("x", "q", Y_scale=0.5, Y_zero_point=3)
    net.Int8Relu("q", "r", Y_scale=0.5, Y_zero_point=3)
    net.Int8Dequantize("r", "y")
    shapes, _ = workspace.InferShapesAndTypes([net], {"x": [2, 3]})
    assert shapes["q"] == shapes["r"] == shapes["y"] == [2, 3]
    workspace.FeedBlob("x", np.float32([[-1, 0, 1], [2, 0.5, 300]]))
    workspace.RunNetOnce(net)
    np.testing.assert_array_equal(workspace.FetchBlob("y"), [[0, 0, 1], [2, 0.5, 126]])


# -- pruning_options of Adagrad ------------------------------------------------------------------


def trained(rows, options, steps=4, row_wise=False):
    """A parameter [6, 4] after steps of Adagrad; `rows`: with gradients of rows 1 and 4 only."""
    workspace.ResetWorkspace()
    model = ModelHelper("model")
    start = np.arange(1, 25, dtype=np.float32).reshape(6, 4)
    weight = model.create_param(
        "w", [6, 4], Initializer("GivenTensorFill", values=start.ravel()))
    if rows:
        workspace.FeedBlob("i", np.int64([1, 4]))
        read = model.net.Gather([weight, "i"], "read")
    else:
        read = model.net.Scale(weight, "read", scale=1.0)
    model.AddGradientOperators([model.net.SumElements(read, "loss")])
    optimizer.build_adagrad(model, 0.5, pruning_options=options, rowWise=row_wise)
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    workspace.RunNet(model.net, steps)
    return start, workspace.FetchBlob("w")


def test_a_mask_of_dense_parameters():
    mask = np.arange(24).reshape(6, 4) % 3 != 0
    _, plain = trained(False, None)
    _, pruned = trained(False, {"mask_tensor": mask})
    np.testing.assert_array_equal(pruned, plain * mask)


@pytest.mark.parametrize("row_wise", [False, True])
def test_a_mask_of_sparse_gradients(row_wise):
    bits = np.full((6, 1), 0b0101, np.uint8)
    _, plain = trained(True, None, row_wise=row_wise)
    start, pruned = trained(True, {"mask_tensor": bits}, row_wise=row_wise)
    np.testing.assert_array_equal(pruned[[1, 4]], plain[[1, 4]] * [1, 0, 1, 0])
    np.testing.assert_array_equal(pruned[[0, 2, 3, 5]], start[[0, 2, 3, 5]])


@pytest.mark.parametrize("rows", [False, True])
def test_a_plan_leaves_the_least_out(rows):
    options = {"prune_delays": [2, 3], "prune_ratios": [0.25, 0.5], "prune_block_size": 2}
    _, before = trained(rows, options, steps=1)
    assert (before != 0).all()
    _, pruned = trained(rows, options, steps=2)
    np.testing.assert_array_equal(pruned == 0, np.arange(24).reshape(6, 4) < 6)
    _, pruned = trained(rows, options, steps=4)
    np.testing.assert_array_equal(pruned == 0, np.arange(24).reshape(6, 4) < 12)


def test_a_mask_in_a_database(tmp_path):
    mask = np.float32(np.arange(24).reshape(6, 4) % 2)
    target = {"db": str(tmp_path / "mask.minidb"), "db_type": "minidb"}
    workspace.FeedBlob("m", mask)
    workspace.RunOperatorOnce(
        core.CreateOperator("Save", "m", [], absolute_path=True, **target))
    _, plain = trained(False, None)
    _, pruned = trained(False, {"mask_db_path": target["db"], "mask_db_type": "minidb",
                                "mask_blob_name": "m"})
    np.testing.assert_array_equal(pruned, plain * mask)


@pytest.mark.parametrize("options, message", [
    ({"mask": 1}, "unknown options"),
    ({"mask_db_path": "x"}, "mask_db_type"),
    ({"prune_delays": [1], "prune_ratios": []}, "prune_ratios"),
    ({"mask_tensor": np.ones(1), "prune_delays": [1], "prune_ratios": [0.5]}, "either"),
    ({"prune_block_size": 2}, "either"),
])
def test_options_that_contradict(options, message):
    with pytest.raises(ValueError, match=message):
        optimizer.AdagradOptimizer(pruning_options=options)


def test_pruning_excludes_weight_decay():
    with pytest.raises(ValueError, match="cannot be used with weight_decay"):
        optimizer.AdagradOptimizer(weight_decay=0.1, pruning_options={"mask_tensor": np.ones(1)})
