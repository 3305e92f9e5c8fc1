"""Blobs, nets, plans and errors of caffe2.python.workspace."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, utils, workspace

NUMERIC = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16",
           "bool"]


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3), (2, 0, 4)])
def test_feed_and_fetch_keep_type_shape_and_values(dtype, shape):
    values = (np.arange(np.prod(shape, dtype=int)) - 1).reshape(shape).astype(dtype)
    workspace.FeedBlob("x", values)
    fetched = workspace.FetchBlob("x")
    assert fetched.dtype == values.dtype
    assert fetched.shape == values.shape
    np.testing.assert_array_equal(fetched, values)


@pytest.mark.parametrize("dtype", ["float32", "int64", "float16"])
def test_feed_takes_any_layout_and_byte_order(dtype):
    values = np.arange(24).reshape(2, 3, 4).astype(dtype)
    for view in (values[:, ::2], values.T, values[::-1], np.asfortranarray(values),
                 values.astype(values.dtype.newbyteorder(">"))):
        workspace.FeedBlob("x", view)
        np.testing.assert_array_equal(workspace.FetchBlob("x"), view)


def test_feed_copies_and_fetch_copies():
    values = np.zeros(4, np.float32)
    workspace.FeedBlob("x", values)
    values[0] = 1
    fetched = workspace.FetchBlob("x")
    assert fetched[0] == 0
    fetched[1] = 1
    assert workspace.FetchBlob("x")[1] == 0


def test_strings():
    for values in (np.array(["a", "bä"]), np.array([b"a", "bä".encode()]),
                   np.array(["a", "bä".encode()], dtype=object)):
        workspace.FeedBlob("s", values)
        assert workspace.FetchBlob("s").tolist() == [b"a", "bä".encode()]
    workspace.FeedBlob("s", np.array([["x", "y"]]))
    assert workspace.FetchBlob("s").shape == (1, 2)
    workspace.FeedBlob("s", "text")
    assert workspace.FetchBlob("s") == b"text"
    with pytest.raises(TypeError, match="element 1 .* int"):
        workspace.FeedBlob("s", np.array(["a", 3], dtype=object))


def test_bfloat16_round_trip():
    values = np.array([1.0, -2.5, 3.140625, np.inf, 0.0], np.float32)
    workspace.FeedBlob("b", utils.FloatToBFloat16(values))
    fetched = workspace.FetchBlob("b")
    assert fetched.dtype == workspace.bfloat16
    np.testing.assert_array_equal(utils.BFloat16ToFloat(fetched), values)
    assert np.isnan(utils.BFloat16ToFloat(utils.FloatToBFloat16(np.float32([np.nan]))))[0]


def test_numbers_and_lists_become_arrays():
    workspace.FeedBlob("x", 3.5)
    assert workspace.FetchBlob("x") == 3.5
    workspace.FeedBlob("x", [[1, 2], [3, 4]])
    assert workspace.FetchBlob("x").tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "value", [np.zeros(2, np.complex64), np.zeros(2, np.uint64), object(), None])
def test_what_no_blob_holds_is_a_type_error(value):
    with pytest.raises(TypeError):
        workspace.FeedBlob("x", value)


def test_missing_and_foreign_blobs():
    with pytest.raises(RuntimeError, match="nowhere"):
        workspace.FetchBlob("nowhere")
    with pytest.raises(KeyError):
        workspace.blobs["nowhere"]
    workspace.CreateBlob("empty")
    assert workspace.HasBlob("empty")
    assert "nothing" in workspace.FetchBlob("empty")


def test_blobs_is_a_dict():
    workspace.blobs["x"] = np.ones(2, np.float32)
    assert "x" in workspace.blobs
    assert list(workspace.blobs) == ["x"]
    assert len(workspace.blobs) == 1
    del workspace.blobs["x"]
    assert not workspace.HasBlob("x")


def test_serialized_blobs_return():
    values = np.arange(6, dtype=np.int64).reshape(2, 3)
    workspace.FeedBlob("x", values)
    data = workspace.SerializeBlob("x")
    proto = caffe2_pb2.BlobProto.FromString(data)
    assert proto.name == "x" and proto.type == "Tensor"
    workspace.DeserializeBlob("y", data)
    np.testing.assert_array_equal(workspace.FetchBlob("y"), values)
    with pytest.raises(RuntimeError):
        workspace.DeserializeBlob("z", b"\xff\xff")


def test_workspaces_are_separate():
    workspace.FeedBlob("x", np.ones(1, np.float32))
    with workspace.WorkspaceGuard("other"):
        assert workspace.CurrentWorkspace() == "other"
        assert not workspace.HasBlob("x")
    assert workspace.HasBlob("x")
    assert {"default", "other"} <= set(workspace.Workspaces())
    with pytest.raises(RuntimeError, match="unknown"):
        workspace.SwitchWorkspace("unknown")


@pytest.mark.parametrize("net_type", ["simple", "async_scheduling"])
def test_a_net_that_waits_can_be_cancelled(net_type):
    ws = C.Workspace()
    init, net = core.Net("make_queue"), core.Net("wait")
    init.CreateBlobsQueue([], "queue", capacity=1, num_blobs=1)
    ws.run(init)
    net.Proto().type = net_type
    net.SafeDequeueBlobs("queue", ["record", "status"])
    created = ws.create_net(net)
    ended = threading.Event()

    def cancel_until_it_ends():
        while not ended.wait(0.01):
            created.cancel()

    thread = threading.Thread(target=cancel_until_it_ends)
    thread.start()
    with pytest.raises(RuntimeError, match="stopped on request"):
        created.run()
    ended.set()
    thread.join()
    ws.run(core.CreateOperator("CloseBlobsQueue", "queue", []))
    created.run()  # the workspace can be used again
    assert ws.fetch_blob("status")


def test_workspace_class():
    ws = C.Workspace()
    ws.feed_blob("x", np.ones(3, np.float32))
    net = core.Net("in_class")
    net.Relu("x", "y")
    ws.run(net)
    ws.run(core.CreateOperator("Relu", "y", "z"))
    np.testing.assert_array_equal(ws.fetch_blob("z"), np.ones(3))
    np.testing.assert_array_equal(ws.blobs["z"].fetch(), np.ones(3))
    assert not workspace.HasBlob("x")
    created = ws.create_net(net)
    created.run()
    created.cancel()  # nothing runs
    created.run()
    assert list(ws.nets) == [net.Name()]
    child = C.Workspace(ws)
    assert child.has_blob("x")
    with pytest.raises(TypeError, match="int"):
        ws.run(3)


def test_tensor_data_is_a_view_that_outlives_the_blob():
    workspace.FeedBlob("x", np.zeros(3, np.float32))
    view = C.Workspace.current.get_blob("x").tensor().data
    view[1] = 5
    assert workspace.FetchBlob("x")[1] == 5
    workspace.ResetWorkspace()
    assert view[1] == 5


def test_net_life_cycle():
    net = core.Net("life")
    net.ConstantFill([], "x", shape=[2], value=1.0)
    workspace.CreateNet(net)
    assert workspace.RunNet(net.Name(), num_iter=3)
    with pytest.raises(RuntimeError, match="already exists"):
        workspace.CreateNet(net)
    workspace.CreateNet(net, overwrite=True)
    assert len(workspace.BenchmarkNet(net, 1, 2, True)) == 2
    workspace.DeleteNet(net)
    with pytest.raises(RuntimeError, match="does not exist"):
        workspace.RunNet(net)


def test_a_plan_in_the_background():
    go, net = threading.Event(), core.Net("background")
    net.Python(lambda inputs, outputs: go.wait(60))([], [])
    net.ConstantFill([], "made_in_background", shape=[2], value=1.0)
    plan = workspace.RunPlanInBackground(core.execution_step("step", net))
    assert not plan.is_done()
    with pytest.raises(RuntimeError, match="not done"):
        plan.is_succeeded()
    go.set()
    plan._thread.join(60)
    assert plan.is_done() and plan.is_succeeded()
    assert workspace.FetchBlob("made_in_background").tolist() == [1, 1]
    wrong = core.Net("wrong_in_background")
    wrong.Relu("made_in_background", "y")
    wrong.Reshape("y", ["z", "old"], shape=[3])
    plan = workspace.RunPlanInBackground(core.execution_step("wrong", wrong))
    plan._thread.join(60)
    assert not plan.is_succeeded()


def test_cost_of_an_operator():
    for name, shape in (("x", (4, 8)), ("w", (2, 8)), ("b", (2,))):
        workspace.FeedBlob(name, np.zeros(shape, np.float32))
    operator = core.CreateOperator("FC", ["x", "w", "b"], ["y"])
    flops, written = workspace.GetOperatorCost(operator, ["x", "w", "b"])
    assert written == 4 * 2 * 4
    assert flops in (4 * 2 * 8 * 2, 4 * 2 * (8 * 2 + 1))  # with or without the bias
    with pytest.raises(RuntimeError, match="Can't find blob: absent"):
        workspace.GetOperatorCost(operator, ["x", "w", "absent"])


def test_stats_are_read_and_kept():
    net = core.Net("stats")
    net.GivenTensorStringFill([], "keys", shape=[2], values=["test/a", "test/b"])
    net.GivenTensorInt64Fill([], "values", shape=[2], values=[3, 4])
    net.StatRegistryUpdate(["keys", "values"], [])
    workspace.RunNetOnce(net)
    before = workspace.GetStats()
    assert before["test/b"] - before["test/a"] == 1
    assert workspace.GetStats() == before


def test_errors_name_operator_and_creation_line():
    workspace.FeedBlob("x", np.zeros((2, 3), np.float32))
    net = core.Net("wrong")
    net.Relu("x", "y")
    net.FC(["x", "x", "x"], "z")  # the line that the error names
    with pytest.raises(RuntimeError, match="operator 1, FC") as failure:
        workspace.RunNetOnce(net)
    assert __file__ in str(failure.value)
    assert "test_errors_name_operator_and_creation_line" in str(failure.value)


def test_bytes_that_are_no_message():
    with pytest.raises(ValueError, match="NetDef"):
        C.create_net(b"\xff\xff\xff")
    with pytest.raises(TypeError, match="int"):
        workspace.RunNetOnce(3)


def test_plan_runs_steps():
    init = core.Net("plan_init")
    init.ConstantFill([], "count", shape=[1], value=0.0)
    init.ConstantFill([], "one", shape=[1], value=1.0)
    step_net = core.Net("plan_step")
    step_net.Add(["count", "one"], "count")
    plan = core.Plan("plan")
    plan.AddStep(core.execution_step("init", init))
    plan.AddStep(core.execution_step("loop", step_net, num_iter=5))
    workspace.RunPlan(plan)
    assert workspace.FetchBlob("count") == 5


def test_nets_release_the_gil():
    progress = []

    def wait(inputs, outputs):
        deadline = time.monotonic() + 10
        while not progress and time.monotonic() < deadline:
            time.sleep(0.001)

    net = core.Net("waiting")
    net.Python(wait)([], [])
    thread = threading.Thread(target=workspace.RunNetOnce, args=(net,))
    thread.start()
    progress.append(1)
    thread.join(10)
    assert not thread.is_alive()


def test_interrupt_stops_a_running_net():
    workspace.FeedBlob("x", np.zeros(10, np.float32))
    net = core.Net("endless")
    net.Relu("x", "y")
    workspace.CreateNet(net)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        workspace.RunNet(net, num_iter=1_000_000_000)
    # The stop does not stay.
    assert workspace.RunNet(net)


def test_infer_shapes_and_types():
    net = core.Net("shapes")
    net.FC(["x", "w", "b"], "y")
    net.Relu("y", "z")
    shapes, types = workspace.InferShapesAndTypes(
        [net], {"x": [5, 4], "w": [3, 4], "b": [3]})
    assert shapes["z"] == [5, 3]
    assert types["z"] == caffe2_pb2.TensorProto.FLOAT
    for name, shape in {"x": (5, 4), "w": (3, 4), "b": (3,)}.items():
        workspace.FeedBlob(name, np.zeros(shape, np.float32))
    assert workspace.InferShapesAndTypes([net])[0]["y"] == [5, 3]


def test_immediate_mode():
    workspace.StartImmediate()
    try:
        net = core.Net("immediate")
        net.AveragedLoss(net.ConstantFill([], "x", shape=[4], value=2.0), "loss")
        assert workspace.FetchImmediate("loss") == 2
        net.AddGradientOperators(["loss"])
        assert workspace.FetchImmediate("x_grad").tolist() == [0.25] * 4
        assert not workspace.HasBlob("x")
    finally:
        workspace.StopImmediate()
    net.Relu("x", "y")
    assert not workspace.IsImmediate()


def test_flags():
    core.GlobalInit(["caffe2", "a_word", "--caffe2_log_level=2"])
    assert core.GetGlobalInitArgs() == ["a_word", "--caffe2_log_level=2"]
    with pytest.raises(ValueError, match="no_such_flag"):
        core.GlobalInit(["caffe2", "--no_such_flag=1"])


def test_run_operator_multiple_leaves_other_nets_alone():
    net = core.Net("RunOperatorMultiple")
    net.ConstantFill([], "x", shape=[1])
    workspace.CreateNet(net)
    assert workspace.RunOperatorMultiple(core.CreateOperator(
        "ConstantFill", [], ["y"], shape=[2]), 1)
    assert workspace.C.nets() == [net.Name()]


def test_run_operator_multiple_keeps_the_operator():
    workspace.FeedBlob("x", np.array([0.5, 2], np.float32))
    op = core.CreateOperator("AccumulateHistogram", ["x"], ["now", "so_far"])
    assert workspace.RunOperatorMultiple(op, 3)
    assert workspace.FetchBlob("now").tolist() == [0, 1, 1]
    assert workspace.FetchBlob("so_far").tolist() == [0, 3, 3]
    assert workspace.RunOperatorMultiple(op.SerializeToString(), 2)
    assert workspace.FetchBlob("so_far").tolist() == [0, 2, 2]
    assert workspace.RunOperatorOnce(op)
    assert workspace.FetchBlob("so_far").tolist() == [0, 1, 1]
