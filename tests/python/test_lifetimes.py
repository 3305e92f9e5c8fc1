"""Blobs, nets, tensors and observers that are removed or replaced while something uses them."""

import functools
import gc
import threading
import time

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core, recurrent, workspace
from caffe2.python.predictor_class import Predictor


def _relu_net(name="relu", net_type="simple"):
    workspace.FeedBlob("x", np.array([-1, 2], np.float32))
    net = core.Net(name)
    net.Proto().type = net_type
    net.Relu("x", "y")
    workspace.CreateNet(net)
    return net


class _PausedNet:
    """A net that another thread runs: it copies x to y, then waits in a Python operator."""

    def __enter__(self):
        self.reached, self.go_on = threading.Event(), threading.Event()
        workspace.FeedBlob("x", np.zeros(4, np.float32))
        self.net = core.Net("paused")
        self.net.Copy("x", "y")
        self.net.Python(self._wait)(["y"], ["z"])
        self.errors = []
        self.thread = threading.Thread(target=self._run, args=[self._start()])
        self.thread.start()
        assert self.reached.wait(30)
        return self

    def __exit__(self, *_):
        self.go_on.set()
        self.thread.join(30)
        assert not self.thread.is_alive()
        assert not self.errors

    def _wait(self, _inputs, _outputs):
        self.reached.set()
        assert self.go_on.wait(30)

    def _start(self):
        workspace.CreateNet(self.net)
        return lambda: workspace.RunNet(self.net)

    def _run(self, run):
        try:
            run()
        except BaseException as error:
            self.errors.append(str(error))


class _PausedLoop(_PausedNet):
    """The same in the body of a loop, which alone names the blobs."""

    def _start(self):
        body, self.net = self.net, core.Net("outer")
        body.ConstantFill([], "more", shape=[1], value=False, dtype=core.DataType.BOOL)
        workspace.FeedBlob("more", np.array([True]))
        self.net.While(["more"], [], loop_net=body.Proto())
        workspace.CreateNet(self.net)
        return lambda: workspace.RunNet(self.net)


class _PausedRecurrent(_PausedNet):
    """A recurrent network before the Python operator."""

    def _start(self):
        wait = self.net.Proto().op[1]
        cell = core.Net("sum")
        x_t, previous = cell.AddExternalInput("x_t", "previous")
        total = cell.Sum([x_t, previous], "total")
        cell.AddExternalOutput(total)
        for name, shape in (("sequence", (3, 2, 4)), ("start", (1, 2, 4)), ("y", (1,))):
            workspace.FeedBlob(name, np.ones(shape, np.float32))
        self.net = core.Net("sums")
        recurrent.recurrent_net(self.net, cell, [(x_t, core.BlobReference("sequence"))],
                                [(previous, core.BlobReference("start"))], {previous: total},
                                scope="rnn")
        self.net.Proto().op.add().CopyFrom(wait)
        workspace.CreateNet(self.net)
        return lambda: workspace.RunNet(self.net)


class _PausedOperator(_PausedNet):
    """The same in a single operator."""

    def __enter__(self):
        workspace.FeedBlob("y", np.zeros(4, np.float32))
        return super().__enter__()

    def _start(self):
        operator = caffe2_pb2.OperatorDef()
        operator.CopyFrom(self.net.Proto().op[1])
        operator.input.append("x")
        return lambda: workspace.RunOperatorOnce(operator)


class _PausedPlan(_PausedNet):
    """The same in a plan."""

    def _start(self):
        plan = core.Plan("plan")
        plan.AddStep(core.ExecutionStep("step", self.net))
        return lambda: workspace.RunPlan(plan)


def test_a_net_meets_a_removed_blob_again_under_its_name():
    net = _relu_net()
    workspace.RunNet(net)
    assert workspace.RemoveBlob("x")
    assert not workspace.HasBlob("x")
    for i in range(20):  # take the memory that was freed
        workspace.FeedBlob(f"other{i}", np.full(2, 7, np.float32))
    with pytest.raises(RuntimeError, match=r"input 0, blob x"):
        workspace.RunNet(net)
    workspace.FeedBlob("x", np.array([-5, 3, 4], np.float32))
    workspace.RunNet(net)
    assert workspace.FetchBlob("y").tolist() == [0, 3, 4]


def test_a_removed_output_comes_back_with_the_next_run():
    net = _relu_net()
    workspace.RemoveBlob("y")
    assert workspace.Blobs() == ["x"] and not workspace.RemoveBlob("y")
    workspace.RunNet(net)
    assert workspace.Blobs() == ["x", "y"]
    assert workspace.FetchBlob("y").tolist() == [0, 2]
    workspace.RemoveBlob("y")
    workspace.FeedBlob("y", "text")
    workspace.RunNet(net)
    assert workspace.FetchBlob("y").tolist() == [0, 2]


def test_handles_outlive_what_they_stand_for():
    net = _relu_net()
    old = C.Workspace.current
    blob, tensor, created = old.get_blob("x"), old.get_blob("x").tensor(), old.nets[net.Name()]
    workspace.FeedBlob("x", "text")
    assert tensor.fetch().tolist() == [-1, 2]
    workspace.FeedBlob("x", np.ones(3, np.float32))
    workspace.RemoveBlob("x")
    assert not blob.is_tensor()
    workspace.FeedBlob("x", np.ones(3, np.float32))
    workspace.CreateNet(net, overwrite=True)
    created.run()
    assert workspace.FetchBlob("y").tolist() == [1, 1, 1]
    C.delete_net(net.Name())
    with pytest.raises(RuntimeError, match=f"net {net.Name()} does not exist"):
        created.run()
    workspace.ResetWorkspace()
    assert dict(old.blobs) == {} and dict(old.nets) == {}
    assert blob.type_name() == C.Workspace().create_blob("empty").type_name()
    assert tensor.fetch().tolist() == [-1, 2]


def test_observers_outlive_their_net():
    net = _relu_net()
    observer = net.AddObserver("ProfileObserver")
    workspace.RunNet(net)
    net.RemoveObserver(observer)
    assert "operator 0 Relu" in observer.debug_info()
    other = net.AddObserver("TimeObserver")
    workspace.RunNet(net)
    C.delete_net(net.Name())
    assert other.average_time() > 0
    assert f"net {net.Name()}" in other.debug_info()


@pytest.mark.parametrize("net_type", ["simple", "dag"])
@pytest.mark.parametrize("misuse, text", [
    (lambda net: workspace.ResetWorkspace(),
     "cannot reset workspace default while a net runs there"),
    (lambda net: C.delete_net(net.Name()), "cannot delete net {} while it runs"),
    (lambda net: workspace.CreateNet(net, overwrite=True), "cannot overwrite net {} while it runs"),
], ids=["reset", "delete", "overwrite"])
def test_a_python_operator_cannot_end_its_own_net(misuse, text, net_type):
    errors = []

    def function(_inputs, _outputs):
        with pytest.raises(RuntimeError) as error:
            misuse(net)
        errors.append(str(error.value))

    workspace.FeedBlob("x", np.ones(2, np.float32))
    net = core.Net("own")
    net.Proto().type = net_type
    net.Python(function)(["x"], ["y"])
    net.Relu("x", "z")
    workspace.CreateNet(net)
    workspace.RunNet(net)
    workspace.RunNet(net)
    assert len(errors) == 2 and all(text.format(net.Name()) in error for error in errors)
    assert workspace.FetchBlob("z").tolist() == [1, 1]


@pytest.mark.parametrize("net_type", ["simple", "dag"])
def test_a_python_operator_may_replace_the_blobs_of_its_net(net_type):
    def function(inputs, outputs):
        view = inputs[0].data
        workspace.FeedBlob("x", np.full(1000, 2, np.float32))
        assert view.tolist() == [1, 1]
        assert inputs[0].shape == (1000,)
        workspace.RemoveBlob("y")
        outputs[0].feed(np.ones(3, np.float32))  # the tensor of the removed blob

    workspace.FeedBlob("x", np.ones(2, np.float32))
    net = core.Net("own")
    net.Proto().type = net_type
    net.Python(function)(["x"], ["y"])
    net.Relu("x", "z")
    net.Proto().op[1].control_input.append("y")
    workspace.RunNetOnce(net)
    assert workspace.FetchBlob("z").shape == (1000,)
    assert not workspace.HasBlob("y")


@pytest.mark.parametrize("paused_by", [_PausedNet, _PausedPlan])
def test_what_another_thread_runs_keeps_its_blobs_and_net(paused_by):
    with paused_by() as paused:
        name = paused.net.Name()
        user = "net paused" if paused_by is _PausedNet else "plan plan"
        x = C.Workspace.current.get_blob("x")
        same = x.serialize("x")
        workspace.FeedBlob("x", np.ones(4, np.float32))  # the same memory
        for value in (np.ones(5, np.float32), np.ones(4, np.float64), np.ones((2, 2), np.float32),
                      "text"):
            for feed in (functools.partial(workspace.FeedBlob, "x"), x.feed):
                with pytest.raises(RuntimeError, match="cannot give blob .* another shape, type or "
                                   f"device while {user}.*, which uses it, runs in another thread"):
                    feed(value)
        for misuse in (lambda: workspace.DeserializeBlob("x", same), lambda: x.deserialize(same)):
            with pytest.raises(RuntimeError, match=f"cannot deserialize .* while {user}"):
                misuse()
        with pytest.raises(RuntimeError, match=f"cannot remove blob y while {user}"):
            workspace.RemoveBlob("y")
        for misuse in (lambda: C.delete_net(name), lambda: workspace.RunNet(name),
                       lambda: workspace.CreateNet(paused.net, overwrite=True),
                       lambda: paused.net.AddObserver("TimeObserver")):
            with pytest.raises(RuntimeError, match=f"net {name} while it runs"):
                misuse()
        plan = core.Plan("other")
        plan.AddStep(core.ExecutionStep("step", paused.net))
        with pytest.raises(RuntimeError, match=f"plan other.* cannot overwrite net {name}"):
            workspace.RunPlan(plan)
        workspace.FeedBlob("other", np.ones(9, np.float32))
        workspace.RemoveBlob("other")
        workspace.CreateNet(core.Net("another"), overwrite=True)
        C.delete_net("unknown")
    workspace.FeedBlob("x", np.ones(5, np.float32))
    workspace.RemoveBlob("y")
    workspace.RunNet(name)
    assert workspace.FetchBlob("y").tolist() == [1] * 5


@pytest.mark.parametrize("paused_by, user", [
    (_PausedNet, "net paused"), (_PausedPlan, "plan plan"), (_PausedLoop, "net outer"),
    (_PausedOperator, "operator Python")])
def test_what_runs_keeps_its_blobs_and_their_tensors(paused_by, user):
    with paused_by():
        x = C.Workspace.current.get_blob("x")
        tensor = x.tensor()
        for misuse in (
                lambda: workspace.FeedBlob("x", np.ones(5, np.float32)),
                lambda: workspace.RemoveBlob("y"),
                lambda: tensor.feed(np.ones(5, np.float32)),
                lambda: tensor.feed(np.ones(4, np.float64)),
                lambda: tensor.reshape([2, 2]),
                lambda: tensor._reshape([3]),
                lambda: tensor.init([4], core.DataType.INT32),
                lambda: tensor.from_dlpack(np.ones(4, np.float32))):
            with pytest.raises(RuntimeError, match=f"cannot .* while {user}.*, which uses it, runs "
                               "in another thread"):
                misuse()
        tensor.feed(np.full(4, 3, np.float32))
        tensor.reshape([4])
        tensor.init([4], core.DataType.FLOAT)
        assert workspace.FetchBlob("x").tolist() == [3] * 4
        C.TensorCPU().feed(np.ones(5, np.float32))
    tensor.reshape([2, 2])
    workspace.FeedBlob("x", np.ones(5, np.float32))
    workspace.RemoveBlob("y")


@pytest.mark.parametrize("paused_by", [_PausedNet, _PausedPlan, _PausedLoop, _PausedOperator])
@pytest.mark.parametrize("run_other", [
    lambda net: workspace.RunOperatorOnce(net.Proto().op[0]), workspace.RunNetOnce,
    lambda net: (workspace.CreateNet(net), workspace.RunNet(net))],
    ids=["operator", "net once", "net"])
def test_runs_do_not_resize_the_blobs_of_each_other(paused_by, run_other):
    workspace.FeedBlob("w", np.ones(4, np.float32))
    same, other, reader = core.Net("same"), core.Net("other"), core.Net("reader")
    same.Copy("w", "x")
    other.Copy("large", "x")
    reader.Copy("x", "x2")
    workspace.FeedBlob("large", np.ones(1000, np.float32))
    with paused_by():
        run_other(same)
        run_other(reader)
        assert workspace.FetchBlob("x2").tolist() == [1] * 4
        with pytest.raises(RuntimeError, match=r"the tensor of shape \[4\] must keep its shape, "
                           "type and memory while another run uses it"):
            run_other(other)
        assert workspace.FetchBlob("x").tolist() == [1] * 4
    workspace.RunNetOnce(other)
    assert workspace.FetchBlob("x").shape == (1000,)


def test_the_states_of_a_recurrent_network_are_blobs_of_its_net():
    with _PausedRecurrent() as paused:
        arguments = [argument for op in paused.net.Proto().op for argument in op.arg]
        states = next(a.strings for a in arguments if a.name == "recurrent_states")
        for state in map(bytes.decode, states):
            assert workspace.FetchBlob(state).shape == (4, 2, 4)
            with pytest.raises(RuntimeError, match="cannot give blob .* while net sums"):
                workspace.FeedBlob(state, np.ones(9, np.float32))


@pytest.mark.parametrize("how", ["RunNet", "RunNetOnce", "RunOperatorOnce"])
def test_a_net_may_run_another_one_over_its_blobs(how):
    def function(_inputs, _outputs):
        getattr(workspace, how)(inner.Proto().op[0] if how == "RunOperatorOnce" else inner)

    workspace.FeedBlob("x", np.ones(4, np.float32))
    workspace.FeedBlob("y", np.ones(2, np.float32))
    inner, outer = core.Net("inner"), core.Net("outer")
    inner.Copy("x", "y")
    outer.Python(function)(["x", "y"], ["z"])
    outer.Copy("y", "w")
    outer.Proto().op[1].control_input.append("z")
    for i in range(2):  # so that another thread of the net runs the function
        outer.Python(lambda _inputs, _outputs: time.sleep(0.1))([], [f"other{i}"])
    outer.Proto().op.insert(0, outer.Proto().op.pop())
    outer.Proto().num_workers = 2
    workspace.CreateNet(inner)
    for net_type in ("simple", "dag"):
        workspace.FeedBlob("y", np.ones(2, np.float32))
        outer.Proto().type = net_type
        workspace.RunNetOnce(outer)
        assert workspace.FetchBlob("w").tolist() == [1] * 4


@pytest.mark.parametrize("net_type", ["simple", "dag"])
def test_an_operator_of_one_net_keeps_the_blobs_of_another(net_type):
    errors = []

    def function(_inputs, _outputs):
        with pytest.raises(RuntimeError) as error:
            workspace.FeedBlob("x", np.ones(5, np.float32))
        errors.append(str(error.value))
        workspace.FeedBlob("w", np.ones(5, np.float32))  # of its own net

    with _PausedNet():
        workspace.FeedBlob("w", np.ones(4, np.float32))
        net = core.Net("other")
        net.Proto().type, net.Proto().num_workers = net_type, 2
        for i in range(4):
            net.Python(function)([], [f"done{i}"])
        net.Copy("w", "w2")
        workspace.RunNetOnce(net)
    assert len(errors) == 4 and all("cannot give blob x" in error for error in errors)


def test_a_plan_keeps_its_nets():
    errors = []

    def function(_inputs, _outputs):
        with pytest.raises(RuntimeError) as error:
            C.delete_net(net.Name())
        errors.append(str(error.value))

    net = core.Net("planned")
    net.Python(function)([], ["done"])
    plan = core.Plan("plan")
    plan.AddStep(core.ExecutionStep("step", net, num_iter=2))
    workspace.RunPlan(plan)
    assert len(errors) == 2 and "cannot delete net planned" in errors[0]


def test_workspaces_of_plans_and_children_may_be_kept():
    kept = []

    def function(_inputs, _outputs, ws):
        inner = core.Net("inner")
        inner.ConstantFill([], "made", shape=[2])
        ws.create_net(inner).run()
        kept.append((ws, ws.nets))

    net = core.Net("planned")
    net.Python(function, pass_workspace=True)([], ["done"])
    step = core.ExecutionStep("step", net)
    step.Proto().create_workspace = True
    plan = core.Plan("plan")
    plan.AddStep(step)
    workspace.RunPlan(plan)
    (ws, nets), = kept
    assert ws.fetch_blob("made").tolist() == [0, 0]
    assert all(created.name for created in nets.values())

    def child_net():
        parent = C.Workspace()
        parent.feed_blob("x", np.array([-1, 1], np.float32))
        child = C.Workspace(parent)
        relu = core.Net("relu")
        relu.Relu("x", "y")
        return child.create_net(relu), child.get_blob("y")

    created, y = child_net()
    gc.collect()
    created.run()
    assert y.fetch().tolist() == [0, 1]


def test_large_copies_keep_the_memory_that_they_read_and_write():
    sizes = [300_000, 700_000, 1_100_000]
    errors = []

    def feed(value):
        try:
            for i in range(60):
                workspace.FeedBlob("x", np.full(sizes[(i + value) % 3], value, np.float32))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=feed, args=[value]) for value in (1, 2)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        if workspace.HasBlob("x"):
            assert workspace.FetchBlob("x").size in sizes
    assert not errors


def test_a_value_that_is_refused_makes_no_blob():
    with pytest.raises(TypeError):
        workspace.FeedBlob("new", object())
    assert not workspace.HasBlob("new")


def test_a_reset_stops_what_waits_in_other_threads():
    workspace.RunOperatorOnce(core.CreateOperator("CreateBlobsQueue", [], ["queue"]))
    reached = threading.Event()
    net = core.Net("waits")
    net.Python(lambda _inputs, _outputs: reached.set())([], [])
    net.DequeueBlobs("queue", "x")
    workspace.CreateNet(net)
    errors = []

    def run():
        try:
            workspace.RunNet(net)
        except RuntimeError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert reached.wait(30)
    workspace.ResetWorkspace()
    thread.join(30)
    assert not thread.is_alive() and "waits" in str(errors[0])
    assert workspace.Blobs() == []
    workspace.FeedBlob("x", np.ones(1))  # the new workspace was not told to stop
    workspace.RunOperatorOnce(core.CreateOperator("Copy", ["x"], ["y"]))


def test_threads_make_blobs_while_a_plan_runs():
    net = core.Net("counts")
    net.ConstantFill([], "one", shape=[1])
    step = core.ExecutionStep("step", net, num_iter=1)
    step.Proto().create_workspace = True
    plan = core.Plan("plan")
    outer = core.ExecutionStep("outer", num_iter=300)
    outer.AddSubstep(step)
    plan.AddStep(outer)
    stop = threading.Event()

    rounds, errors = [0], []

    def feed():
        try:
            while not stop.is_set():
                i = rounds[0] = rounds[0] + 1
                workspace.FeedBlob(f"fed{i % 500}", np.ones(1, np.float32))
                workspace.RemoveBlob(f"fed{(i + 250) % 500}")
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=feed)
    thread.start()
    for _ in range(5):
        workspace.RunPlan(plan)
    stop.set()
    thread.join(30)
    assert not thread.is_alive() and not errors
    assert rounds[0] > 100
    assert len(workspace.Blobs()) <= 251


def test_two_outputs_in_one_blob_do_not_share_memory(capfd):
    workspace.FeedBlob("x", np.array([[3, 1, 2]], np.float32))
    operator = caffe2_pb2.OperatorDef(type="TopK", input=["x"], output=["top", "top"])
    operator.arg.add(name="k", i=2)
    workspace.RunOperatorOnce(operator)
    assert workspace.FetchBlob("top").tolist() == [[0, 2]]  # the indices
    assert "writes output 0 and a later one to blob top" in capfd.readouterr().err
    workspace.FeedBlob("y", np.arange(6, dtype=np.float32))
    workspace.RunOperatorOnce(core.CreateOperator("Split", ["y"], ["a", "_", "_"], axis=0))
    assert workspace.FetchBlob("a").tolist() == [0, 1]
    assert workspace.FetchBlob("_").tolist() == [4, 5]


def test_the_second_transaction_of_a_database_does_not_wait(tmp_path):
    database = C.create_db("lmdb", str(tmp_path / "db"), C.Mode.new)
    first, second = database.new_transaction(), database.new_transaction()
    first.put("a", b"1")
    with pytest.raises(RuntimeError, match="another transaction of LMDB database .*/db has records "
                       "that are not committed"):
        second.put("b", b"2")
    first.commit()
    second.put("b", b"2")
    second.commit()
    database.close()
    cursor = C.create_db("lmdb", str(tmp_path / "db"), C.Mode.read).new_cursor()
    assert cursor.key() == b"a"
    cursor.next()
    assert cursor.value() == b"2"


def test_a_failed_run_of_a_predictor_keeps_its_parameters():
    init, predict = core.Net("init"), core.Net("predict")
    init.ConstantFill([], "w", shape=[2, 3], value=2.0)
    init.ConstantFill([], "b", shape=[2], value=1.0)
    predict.FC(["data", "w", "b"], "y")
    predict.Proto().external_output.append("y")
    predictor = Predictor(init, predict)
    data = np.ones((1, 3), np.float32)
    assert predictor.run({"data": data})[0].tolist() == [[7, 7]]
    with pytest.raises(RuntimeError):
        predictor.run({"data": data, "w": np.ones((2, 5), np.float32)})
    assert predictor.run({"data": data})[0].tolist() == [[7, 7]]
    predictor.run({"data": data, "w": np.ones((2, 3), np.float32)})
    assert predictor.run({"data": data})[0].tolist() == [[4, 4]]
