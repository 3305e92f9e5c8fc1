"""memonger: nets whose blobs share memory compute the same."""

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, memonger, workspace
from caffe2.python.model_helper import ModelHelper


def deep_model(layers=5, gradients=True, width=6):
    model = ModelHelper("deep")
    x = "x"
    with core.NameScope("scope"):
        for i in range(layers):
            x = brew.relu(model, brew.fc(model, x if i else core.BlobReference("x"), f"fc{i}",
                                         width, width), f"relu{i}")
        loss = model.net.AveragedLoss(
            model.net.SquaredL2Distance([x, core.BlobReference("y")], "distance"), "loss")
    if gradients:
        model.AddGradientOperators([loss])
    rng = np.random.default_rng(0)
    for name in "xy":
        workspace.FeedBlob(name, rng.standard_normal((4, width)).astype(np.float32))
    workspace.RunNetOnce(model.param_init_net)
    return model


def count_blobs(proto):
    return len({blob for op in proto.op for blob in (*op.input, *op.output)})


def params_and_loss(model):
    return [blob for op in model.param_init_net.Proto().op for blob in op.output] + [
        "x", "y", "scope/loss", *map(str, model.param_to_grad.values())]


def results(proto, names):
    for name in names:
        workspace.FeedBlob(name, np.zeros(0, np.float32))
    workspace.RunNetOnce(proto)
    return [workspace.FetchBlob(name) for name in names]


@pytest.mark.parametrize("activations", [False, True])
def test_shared_gradients_are_the_same(activations):
    model = deep_model()
    names = ["scope/loss", *map(str, model.param_to_grad.values())]
    expected = results(model.net.Proto(), names)
    shared = memonger.share_grad_blobs(
        model.net, ["scope/loss"], set(model.param_to_grad.values()), "scope/",
        share_activations=activations)
    assert count_blobs(shared) < count_blobs(model.net.Proto())
    assert any(blob.endswith("_shared") for op in shared.op for blob in op.output)
    for value, same in zip(results(shared, names), expected):
        np.testing.assert_array_equal(value, same)
    assert memonger.verify_graph_equality(shared, model.net.Proto())
    kept = memonger.share_grad_blobs(
        model.net, ["scope/loss"], set(model.param_to_grad.values()), "elsewhere/")
    assert count_blobs(kept) == count_blobs(model.net.Proto())


def test_inference_needs_two_buffers():
    model = deep_model(gradients=False)
    expected = results(model.net.Proto(), ["scope/loss"])
    optimized = memonger.optimize_inference_for_dag(model.net, ["x", "y"], "scope/")
    hidden = {blob for op in optimized.op for blob in op.output if "shared" in blob}
    assert len(hidden) == 2
    np.testing.assert_array_equal(results(optimized, ["scope/loss"]), expected)
    fast = memonger.optimize_inference_fast(model.net.Proto(), params_and_loss(model))
    np.testing.assert_array_equal(results(fast, ["scope/loss"]), expected)
    with pytest.raises(ValueError, match="has gradients"):
        memonger.optimize_inference_for_dag(deep_model().net, ["x"])


def test_blobs_are_freed_after_their_last_use():
    model = deep_model(gradients=False)
    expected = results(model.net.Proto(), ["scope/loss"])
    freeing = memonger.release_blobs_when_used(model.net.Proto(), {"scope/loss", "scope/relu2"})
    freed = [op.input[0] for op in freeing.op if op.type == "Free"]
    assert "scope/relu1" in freed and "scope/relu2" not in freed and "x" not in freed
    assert len(freed) == len(set(freed))
    np.testing.assert_array_equal(results(freeing, ["scope/loss"]), expected)
    assert workspace.FetchBlob("scope/relu2").size == 24
    assert not isinstance(workspace.FetchBlob("scope/relu1"), np.ndarray) or \
        workspace.FetchBlob("scope/relu1").size == 0


@pytest.mark.parametrize("order", [
    memonger.topological_sort_traversal, memonger.topological_sort_traversal_longest_path])
@pytest.mark.parametrize("algorithm", list(memonger.AssignmentAlgorithm))
def test_interference(order, algorithm):
    model = deep_model(layers=3)
    static = params_and_loss(model)
    names = ["scope/loss", *map(str, model.param_to_grad.values())]
    expected = results(model.net.Proto(), names)
    sizes = memonger.collect_blob_sizes(model.net.Proto())
    for blob_sizes in (None, sizes):
        optimized = memonger.optimize_interference(
            model.net.Proto(), static, order, blob_sizes, algorithm)
        statistics = memonger.compute_statistics(optimized.assignments)
        assert statistics.optimized_nbytes < statistics.baseline_nbytes
        for value, same in zip(results(optimized.net, names), expected):
            np.testing.assert_array_equal(value, same)


def lives(*ranges):
    return [(f"b{i}", memonger.LiveRange(*r)) for i, r in enumerate(ranges)]


def test_assignments():
    # A blob of 100 bytes is free for one of 90 and for one of 10, which come at the same time.
    ranges = lives((0, 1, 100), (0, 1, 10), (2, 3, 10), (2, 3, 90))
    greedy = memonger.compute_assignments_greedy(list(ranges))
    assert memonger.get_memory_usage(greedy) == 110
    # First come, first served is not always best.
    ranges = lives((0, 1, 50), (2, 5, 40), (0, 3, 100), (4, 5, 100))
    ranges.sort(key=lambda item: item[1].used)
    tried = [0]
    best = memonger.compute_assignments_dp(ranges, counter=tried)
    assert memonger.get_memory_usage(best) == 150 and tried[0] > 1
    for assignment in best:
        for (_, first), (_, second) in zip(assignment, assignment[1:]):
            assert first.used < second.defined
    assert memonger.compute_blob_assignments([[("a", None), ("b", None)], [("c", None)]]) == {
        "a": "b", "b": "b"}
    with pytest.raises(ValueError, match="Invalid algo"):
        memonger.compute_assignments({}, [], "best")


def test_ranges_and_orders():
    net = core.Net("diamond")
    net.AddExternalInput("a")
    net.Relu("a", "b")
    net.Relu("b", "c")
    net.Relu("a", "d")
    net.Sum(["c", "d"], "e")
    ops = net.Proto().op
    ranges = memonger.compute_ranges(ops)
    assert ranges["a"] == memonger.LiveRange(None, 2, None)
    assert ranges["b"] == memonger.LiveRange(0, 1, None)
    assert ranges["e"] == memonger.LiveRange(3, None, None)
    graph = memonger.compute_interference_graph(ops)
    assert memonger.topological_sort_traversal(graph) == [2, 0, 1, 3]  # the last one first
    assert memonger.topological_sort_traversal_longest_path(graph) == [0, 1, 2, 3]
    assert graph.edges() == [(0, 1), (1, 3), (2, 3)]
    circle = memonger.InterferenceGraph(2)
    circle.add_edge(0, 1)
    circle.add_edge(1, 0)
    with pytest.raises(ValueError, match="cycle"):
        memonger.topological_sort_traversal(circle)


def test_estimates():
    net = core.Net("estimate")
    net.AddExternalInput("a")
    net.Relu("a", "b")
    net.Relu("b", "c")
    net.Free("b", "b")
    net.Relu("c", "d")
    shapes = {name: [2, 5] for name in "abcd"}
    types = {name: core.DataType.FLOAT for name in "abcd"}
    total, most, by_type = memonger.estimate_memory_usage(
        [net.Proto()], shapes, types, core.DeviceOption(caffe2_pb2.CPU))
    assert (total, most, dict(by_type)) == (120, 80, {"Relu": 120})


def test_comparison_of_nets():
    nets = []
    for output in ("b", "a"):
        net = core.Net("compare")
        net.Relu(net.AddExternalInput("a"), output)
        nets.append(net.Proto())
    assert memonger.verify_inplace_blobs(nets[0], nets[0])
    assert not memonger.verify_inplace_blobs(*nets)
    assert memonger.verify_graph_equality(*nets)


def test_operators_in_place_depend_on_all_before():
    net = core.Net("in_place")
    for _ in range(3):
        net.Relu("x", "x")
    graph = memonger.compute_interference_graph(net.Proto().op)
    assert graph.edges() == [(0, 1), (0, 2), (1, 2)]


def test_blobs_with_an_alias_are_not_freed():
    net = core.Net("aliased")
    net.Relu("x", "a")
    net.Alias("a", "b")
    net.Relu("a", "c")
    net.Sum(["b", "c"], "d")
    freed = {op.input[0] for op in memonger.release_blobs_when_used(net.Proto(), ["x"]).op
             if op.type == "Free"}
    assert freed == {"b", "c"}


def test_operators_that_their_schema_refuses_do_not_share():
    net = core.Net("not_in_place")
    net.IndexFreeze("index", "frozen")
    with pytest.raises(RuntimeError, match="IndexFreeze"):
        memonger.optimize_inference_for_dag(net, ["index"])
