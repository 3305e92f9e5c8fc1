"""net_builder, tasks, sessions: programs whose results are known."""

import threading

import numpy as np
import pytest

from caffe2.python import brew, context, core, workspace
from caffe2.python.model_helper import ModelHelper
from caffe2.python.net_builder import NetBuilder, ops
from caffe2.python.session import LocalSession
from caffe2.python.task import Cluster, Node, Task, TaskGroup, WorkspaceType, final_output


def run(builder):
    workspace.RunPlan(core.to_execution_step(builder))


def value(blob):
    return workspace.FetchBlob(str(blob))


def test_contexts():
    @context.define_context()
    class Scope:
        pass

    with pytest.raises(AssertionError, match="is missing"):
        Scope.current()
    assert Scope.current(required=False) is None
    with Scope() as outer:
        assert Scope.current() is outer
        with Scope() as inner:
            assert Scope.current() is inner
        assert Scope.current() is outer
    with pytest.raises(AssertionError, match="Wrong context type"):
        Scope.current(3)

    @Scope()
    def decorated():
        return Scope.current()

    assert isinstance(decorated(), Scope)


def test_contexts_by_inheritance():
    class Base(context.Managed):
        pass

    class Derived(Base):
        pass

    class Default(context.DefaultManaged):
        pass

    with pytest.raises(AssertionError, match="is missing"):
        Base.current()
    with Base() as base, Default() as default, Derived() as derived:
        assert Base.current() is derived and Derived.current() is derived
        assert Default.current() is default and Base.current(value=base) is base
    assert Base.current(required=False) is None
    assert isinstance(Default.current(), Default)


def test_loops_and_branches_of_steps():
    with NetBuilder() as builder:
        total, count = ops.Const(0), ops.Const(0)
        with ops.loop(10) as loop:
            ops.Add([total, loop.iter()], [total])
            with ops.If(ops.GE([loop.iter(), ops.Const(6)])):
                ops.Add([count, ops.Const(1)], [count])
            with ops.Else():
                ops.Add([count, ops.Const(100)], [count])
        with ops.loop():
            ops.Add([total, ops.Const(1)], [total])
            ops.stop_if(ops.GE([total, ops.Const(1000)]))
    run(builder)
    assert (value(total), value(count)) == (1000, 604)


def test_stop_guards():
    with NetBuilder() as builder:
        reached = ops.Const(0)
        with ops.stop_guard() as stopped:
            ops.stop_if(ops.Const(True))
            ops.Const(1, blob_out=reached)
        with ops.stop_guard() as passed:
            ops.stop_if(ops.Const(False))
            ops.Const(2, blob_out=reached)
    run(builder)
    assert value(reached) == 2
    assert value(stopped.has_stopped()) and not value(passed.has_stopped())
    with pytest.raises(ValueError, match="requires a stop condition"):
        with NetBuilder():
            with ops.loop():
                ops.Const(1)


@pytest.mark.parametrize("x, expected", [(10.0, 10 + 28), (2.0, -2 + 28)])
def test_control_operators(x, expected):
    with NetBuilder(_use_control_ops=True) as builder:
        given, y, i = ops.Const(x), ops.Const(0.0), ops.Const(0.0)
        with ops.IfNet(ops.GT([given, ops.Const(3.0)])):
            ops.Add([y, given], [y])
        with ops.ElseNet():
            ops.Sub([y, given], [y])
        with ops.WhileNet():
            with ops.ConditionNet():
                ops.Condition(ops.LT([i, ops.Const(7.0)]))
            ops.Add([i, ops.Const(1.0)], [i])
            ops.Add([y, i], [y])
    run(builder)
    assert value(y) == expected


def test_conditions_that_follow_each_other():
    with NetBuilder() as builder:
        seen = [ops.Const(0) for _ in range(3)]
        with ops.loop(10) as loop:
            with ops.If(ops.GE([loop.iter(), ops.Const(7)])) as branch:
                ops.Add([seen[0], ops.Const(1)], [seen[0]])
            with branch.Elif(ops.GE([loop.iter(), ops.Const(5)])) as branch:
                ops.Add([seen[1], ops.Const(1)], [seen[1]])
            with branch.Else() as branch:
                ops.Add([seen[2], ops.Const(1)], [seen[2]])
            with pytest.raises(ValueError, match="nothing follows Else"):
                branch.Elif(ops.Const(True))
    run(builder)
    assert [value(blob) for blob in seen] == [3, 2, 5]


def test_else_and_condition_of_control_operators():
    with NetBuilder(_use_control_ops=True) as builder:
        y, i = ops.Const(0.0), ops.Const(0.0)
        with ops.IfNet(ops.GT([i, ops.Const(3.0)])):
            ops.Add([y, ops.Const(1.0)], [y])
        with ops.Else():
            ops.Sub([y, ops.Const(100.0)], [y])
        with ops.WhileNet():
            with ops.Condition():
                ops.Add([i, ops.Const(1.0)], [i])
                ops.LT([i, ops.Const(4.0)])
            ops.Add([y, i], [y])
    run(builder)
    assert value(y) == -100 + 1 + 2 + 3
    with pytest.raises(ValueError, match="Else must follow"):
        with NetBuilder():
            ops.Else()


def test_each_operator_builds_its_own_function():
    calls = []

    def builder(name):
        state = []

        def function(inputs, outputs):
            state.append(name)
            calls.append(len(state))

        return function

    op = core.CreatePythonOperator((builder, ["f"], {}), [], [])
    net = core.Net("built")
    net.Proto().op.extend([op, op])
    workspace.CreateNet(net)
    workspace.RunNet(net)
    workspace.RunNet(net)
    assert calls == [1, 1, 2, 2]


@pytest.mark.parametrize("condition, slope", [(True, 3.0), (False, -2.0)])
def test_brew_cond_has_a_gradient(condition, slope):
    model = ModelHelper("cond")
    branches = []
    for scale in (3.0, -2.0):
        branch = ModelHelper("branch")
        branch.net.Scale(core.BlobReference("x"), core.BlobReference("y"), scale=scale)
        branches.append(branch)
    model.net.AddExternalInput("x", "condition")
    model.net.ConstantFill([], "y", shape=[2])
    brew.cond(model, "condition", ["x", "y"], *branches)
    loss = model.net.SumElements("y", "loss")
    gradients = model.AddGradientOperators([loss])
    workspace.FeedBlob("x", np.float32([1, 2]))
    workspace.FeedBlob("condition", np.array([condition]))
    workspace.RunNetOnce(model.net)
    assert value("loss") == 3 * slope
    np.testing.assert_array_equal(value(gradients["x"]), [slope, slope])


def test_brew_loop():
    model, body, test = ModelHelper("loop"), ModelHelper("body"), ModelHelper("test")
    x, one = core.BlobReference("x"), core.BlobReference("one")
    body.net.Add([x, one], x)
    test.net.LT([x, core.BlobReference("limit")], core.BlobReference("go"))
    for name, number in (("x", 0), ("one", 1), ("limit", 5)):
        workspace.FeedBlob(name, np.float32([number]))
        model.net.AddExternalInput(name)
    brew.loop(model, core.BlobReference("go"), ["x", "one", "limit"], body, test)
    workspace.RunNetOnce(model.net)
    assert value("x") == 5
    with pytest.raises(ValueError, match="reads .'x'., which are undefined"):
        brew.loop(model, core.BlobReference("go"), ["one"], body)


def test_tasks_setup_and_outputs():
    with Cluster() as cluster, TaskGroup() as group:
        with Task():
            with ops.task_init():
                start = ops.Const(5)
            first = final_output(ops.Add([start, ops.Const(2)]))
            with ops.task_exit():
                ops.Const(-1, blob_out=start)
        with Node("other"), Task():
            second = final_output([ops.Const(np.float64([1, 2])), ops.Const("text")])
    assert cluster.nodes() == ["local", "other"]
    assert group.used_nodes() == ["local", "other"]
    with pytest.raises(ValueError, match="not set yet"):
        first.get()
    session = LocalSession()
    for _ in range(2):
        session.run(group)
        assert first.fetch() == 7
        np.testing.assert_array_equal(second.fetch()[0], [1, 2])
    with pytest.raises(ValueError, match="already used"):
        with group:
            Task()
        group.add(Task(group=None))
    session.close()
    with pytest.raises(RuntimeError, match="closed"):
        session.run(group)


def test_private_groups_keep_their_blobs():
    for kind, seen in ((WorkspaceType.PRIVATE, False), (WorkspaceType.GLOBAL, True)):
        with TaskGroup(kind) as group, Task():
            blob = ops.Const(1)
        LocalSession().run(group)
        assert workspace.HasBlob(str(blob)) == seen


def test_instances_of_a_task():
    init = core.Net("init")
    counter = init.CreateCounter([], init_count=0)
    workspace.RunNetOnce(init)
    with TaskGroup() as group, Task(num_instances=4):
        ops.CountUp([counter])
    LocalSession().run(group)
    read = core.Net("read")
    read.RetrieveCount([counter], "read")
    workspace.RunNetOnce(read)
    assert value("read") == 4


def test_setup_runs_once_and_outside_of_the_instances():
    ran = []

    def note(what):
        ops.Python(lambda inputs, outputs: ran.append(what))([], [])

    with TaskGroup() as group:
        with Task(num_instances=2):
            with ops.local_init():
                note("local init")
            with ops.task_init():
                note("init")
            with ops.task_instance_init():
                note("instance init")
            note("body")
            with ops.task_instance_exit():
                note("instance exit")
            with ops.task_exit():
                note("exit")
    LocalSession().run(group)
    assert sorted(ran[2:-1]) == 2 * ["body"] + 2 * ["instance exit"] + 2 * ["instance init"]
    assert ran[:2] + ran[-1:] == ["local init", "init", "exit"]


def test_tasks_of_a_private_group_share_no_names():
    all_wrote = threading.Barrier(3, timeout=60)

    def task(number):
        with Task():
            blob = ops.Const(number, blob_out=core.BlobReference("same_name"))
            ops.Python(lambda inputs, outputs: all_wrote.wait())([], [])
            return final_output(ops.Copy(blob))

    with TaskGroup() as group:
        outputs = [task(i) for i in range(3)]
    LocalSession().run(group)
    assert [output.fetch() for output in outputs] == [0, 1, 2]


def test_groups_with_remote_nets_need_remote_hosts():
    with TaskGroup(WorkspaceType.GLOBAL) as group:
        with Task():
            ops.Const(1)
    group.add_remote_net(core.Net("elsewhere"))
    assert "remote_nets=[<Net elsewhere" in repr(group)
    with pytest.raises(ValueError, match="elsewhere"):
        LocalSession().run(group)
    other = TaskGroup(WorkspaceType.GLOBAL)
    with pytest.raises(AssertionError, match="type private cannot be in a group of type global"):
        other.add(Task(workspace_type=WorkspaceType.PRIVATE, group=TaskGroup()))


def test_names_of_blocks_come_first():
    with NetBuilder() as builder:
        i = ops.Const(0)
        with ops.WhileNet("loop"):
            with ops.Condition("below_three"):
                ops.LT([i, ops.Const(3)])
            ops.Add([i, ops.Const(1)], [i])
        with ops.local_exit("the_end") as end:
            pass
    workspace.RunPlan(core.to_execution_step(builder))
    assert workspace.FetchBlob(str(i)) == 3
    assert end.name == "the_end"


def test_a_task_group_is_a_step_of_a_builder():
    with NetBuilder() as builder:
        total = ops.Const(1)
        with ops.task_group():
            with Task():
                ops.Add([total, ops.Const(2)], [total])
        ops.Mul([total, ops.Const(10)], [total])
    workspace.RunPlan(core.to_execution_step(builder))
    assert workspace.FetchBlob(str(total)) == 30  # (1 + 2) * 10: in this order


def test_a_local_reporter_runs_beside_the_tasks():
    workspace.FeedBlob("reports", np.zeros((), np.int64))
    with TaskGroup(WorkspaceType.GLOBAL) as group:
        with Task(node="local"):
            with ops.local_reporter(interval_ms=1):
                ops.Add(["reports", ops.Const(1)], ["reports"])
            with ops.loop():  # until the reporter ran
                ops.stop_if(ops.GE(["reports", ops.Const(1)]))
    LocalSession().run(group)
    assert value("reports") >= 1


def test_merged_nets_keep_the_outputs_that_are_known_outside():
    first, second = core.Net("first"), core.Net("second")
    first.AddExternalOutput(first.Const(1.0, blob_out="a"))
    second.AddExternalOutput(second.Copy("a", "b"))
    merged = NetBuilder.merge_nets([first, second], {core.BlobReference("b")})
    assert merged is first and [op.output[0] for op in merged.Proto().op] == ["a", "b"]
    assert list(merged.Proto().external_output) == ["b"]
    assert NetBuilder.merge_nets([], set()) is None
    with pytest.raises(ValueError, match="no steps"):
        NetBuilder.merge_nets([core.ExecutionStep("step")], set())


@pytest.mark.parametrize("concurrent", [False, True])
def test_what_runs_every_hour_runs_once_more_at_the_end(concurrent):
    workspace.FeedBlob("done", np.zeros(1, np.float32))
    workspace.FeedBlob("reported", np.zeros(1, np.float32))
    workspace.FeedBlob("one", np.ones(1, np.float32))
    work, report = core.Net("work"), core.Net("report")
    work.Add(["done", "one"], "done")
    report.Copy("done", "reported")
    hour = core.execution_step("hour", report, run_every_ms=3_600_000)
    plan = core.Plan("plan")
    plan.AddStep(core.execution_step(
        "all", [core.execution_step("work", work, num_iter=3), hour],
        concurrent_substeps=concurrent))
    workspace.RunPlan(plan)
    assert workspace.FetchBlob("reported") == 3


def test_sessions_run_plans_and_lists_in_sequence():
    first, second = core.Net("first"), core.Net("second")
    first.ConstantFill([], "x", shape=[1], value=2.0)
    second.Scale("x", "x", scale=3.0)
    session = LocalSession()
    plan = core.Plan("both")
    for net in (first, second):
        plan.AddStep(core.execution_step("one", net))
    for runnable in (plan, [first, second]):
        for _ in range(2):
            session.run(runnable)
            assert value("x") == 6


@pytest.mark.parametrize("runnable", [None, "net", 3])
def test_sessions_run_nothing_else(runnable):
    with pytest.raises(TypeError, match=f"{runnable!r}"):
        LocalSession().run(runnable)


def test_sessions_heed_the_type_of_workspace():
    def group(kind=None):
        with TaskGroup(kind) as made, Task() as task:
            task.add_output(ops.Const(4))
        return made, task.outputs()[0]

    with pytest.raises(ValueError, match="the group is private, not global"):
        LocalSession().run(group(WorkspaceType.PRIVATE)[0], WorkspaceType.GLOBAL)
    made, output = group()
    LocalSession().run(made, WorkspaceType.GLOBAL)
    assert made.workspace_type() == WorkspaceType.GLOBAL
    assert isinstance(output.get(), core.BlobReference) and value(output.get()) == 4
