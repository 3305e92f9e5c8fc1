"""Tests of control: loops and branches of execution steps."""

import numpy as np
import pytest

from caffe2.python import control, core, workspace


def value(name):
    return workspace.FetchBlob(name)


class _Counting:
    """Blobs and nets for the tests of control: `count` counts up, conditions compare it."""

    def __init__(self):
        init = core.Net("init")
        self.count = init.ConstantFill([], "count", shape=[1], value=0, dtype=core.DataType.INT32)
        self.init = init
        one = init.ConstantFill([], "one", shape=[1], value=1, dtype=core.DataType.INT32)
        self.up = core.Net("up")
        self.up.Add([self.count, one], [self.count])

    def less_than(self, limit, operator="LT"):
        net = core.Net("less")
        bound = net.ConstantFill([], 1, shape=[1], value=limit, dtype=core.DataType.INT32)
        net.AddExternalOutput(getattr(net, operator)([self.count, bound]))
        return net

    def at_least(self, limit):
        return self.less_than(limit, "GE")

    def run(self, step):
        workspace.RunPlan(core.execution_step("all", [core.to_execution_step(self.init), step]))
        return int(value("count")[0])


def test_control_steps():
    def counted(make):
        workspace.ResetWorkspace()
        counting = _Counting()
        return counting.run(make(counting))

    assert counted(lambda c: control.Do("d", c.up, c.up)) == 2
    assert counted(lambda c: control.For("f", c.up, 7)) == 7
    assert counted(lambda c: control.While("w", c.less_than(5), c.up)) == 5
    assert counted(lambda c: control.While("w", c.less_than(0), c.up)) == 0
    assert counted(lambda c: control.Until("u", c.at_least(4), c.up)) == 4
    assert counted(lambda c: control.DoWhile("dw", c.less_than(0), c.up)) == 1
    assert counted(lambda c: control.DoWhile("dw", c.less_than(3), c.up)) == 3
    assert counted(lambda c: control.DoUntil("du", c.at_least(6), c.up)) == 6
    two = lambda c: control.Do("two", c.up, c.up)  # noqa: E731
    assert counted(lambda c: control.If("i", c.less_than(1), c.up)) == 1
    assert counted(lambda c: control.If("i", c.less_than(0), c.up)) == 0
    assert counted(lambda c: control.If("i", c.less_than(1), c.up, two(c))) == 1
    assert counted(lambda c: control.IfNot("i", c.less_than(1), c.up, two(c))) == 2
    # Each condition is tested when it is its turn, whatever ran before.
    assert counted(lambda c: control.Switch(
        "s", (c.less_than(0), c.up), (c.less_than(1), two(c)), (c.less_than(3), c.up))) == 3
    assert counted(lambda c: control.Switch("s", [(c.less_than(1), c.up)])) == 1
    assert counted(lambda c: control.SwitchNot(
        "s", (c.less_than(1), c.up), (c.less_than(0), two(c)), (c.less_than(2), c.up))) == 3
    assert counted(lambda c: control.Do("list", [c.up, two(c)])) == 3
    parallel = control.DoParallel("list", [core.Net("a"), core.Net("b")]).Proto()
    assert parallel.concurrent_substeps and len(parallel.substep) == 2
    for function in (control.Do, control.Switch):
        with pytest.raises(ValueError, match="nothing to run"):
            function("empty", [])
    with pytest.raises(TypeError, match="a net or a blob, not 3"):
        control.If("no_condition", 3, core.Net("a"))


@pytest.mark.parametrize("kind", ["While", "Until", "DoWhile", "DoUntil"])
def test_loops_run_again_in_loops(kind):
    counting = _Counting()
    total = counting.init.ConstantFill([], "total", shape=[1], value=0, dtype=core.DataType.INT32)
    again, both = core.Net("again"), core.Net("both")
    again.ConstantFill([], counting.count, shape=[1], value=0, dtype=core.DataType.INT32)
    both.AppendNet(counting.up)
    both.Add([total, "one"], [total])
    condition = counting.less_than(3) if kind.endswith("While") else counting.at_least(3)
    loop = getattr(control, kind)("inner", condition, both)
    assert counting.run(control.For("outer", control.Do("d", again, loop), 4)) == 3
    assert value("total") == 12
    assert counting.run(control.For("outer", control.For("inner", both, 2), 5)) == 10


def test_branches_are_chosen_anew_in_loops():
    counting = _Counting()
    two = core.Net("two")
    for _ in range(2):
        two.AppendNet(counting.up)
    odd = core.Net("odd")  # of the number of the iteration, which starts at -1
    step = counting.init.ConstantFill([], "step", shape=[1], value=-1, dtype=core.DataType.INT32)
    odd.Add([step, "one"], [step])
    half = odd.Div([step, odd.ConstantFill([], 1, shape=[1], value=2, dtype=core.DataType.INT32)])
    odd.AddExternalOutput(odd.NE([odd.Add([half, half]), step]))
    assert counting.run(control.For("f", control.If("i", odd, counting.up), 5)) == 2
    assert counting.run(control.For("f", control.IfNot("i", odd, counting.up), 5)) == 3
    assert counting.run(control.For("f", control.If("i", odd, counting.up, two), 5)) == 2 + 3 * 2
    assert counting.run(control.For("f", control.IfNot("i", odd, counting.up, two), 5)) == 3 + 2 * 2


@pytest.mark.parametrize("relation, expected", [("And", 0), ("Or", 1), ("Xor", 1)])
def test_related_conditions(relation, expected):
    def chosen(relate):
        counting = _Counting()
        conditions = [counting.less_than(1), counting.less_than(0)]
        net = relate("related", conditions, relation)
        first = conditions if relate is control.CombineConditions else []
        return counting.run(control.Do("d", *first, control.If("i", net, counting.up)))

    assert chosen(control.MergeConditionNets) == chosen(control.CombineConditions) == expected


def test_what_relates_conditions_runs_their_nets_only_if_merged():
    conditions = [_Counting().less_than(1), _Counting().less_than(2)]
    conditions[1].add_attribute("note", "kept")
    merged = control.MergeConditionNets("merged", conditions, "And")
    assert [op.type for op in merged.Proto().op] == ["ConstantFill", "LT"] * 2 + ["And"]
    assert merged.get_attributes("note") == ["kept"] and len(merged.Proto().external_output) == 1
    combined = control.CombineConditions("combined", conditions, "And")
    assert [op.type for op in combined.Proto().op] == ["And"]
    negated, blob = control.NotNet(conditions[0])
    assert [op.type for op in negated.Proto().op] == ["Not"]
    assert list(negated.Proto().external_output) == [str(blob)]
    one = control.CombineConditions("one", conditions[:1], "Or")
    assert [op.type for op in one.Proto().op] == ["Copy"]
    assert control.MergeConditionNets("one", conditions[:1], "Or") is conditions[0]
    assert control.MergeConditionNets("one", conditions[0], "Or") is conditions[0]
    for relate in (control.MergeConditionNets, control.CombineConditions):
        assert relate("none", [], "Or") is None
    with pytest.raises(ValueError, match="is a list of nets"):
        control.CombineConditions("no_list", conditions[0], "Or")


@pytest.mark.parametrize("kind, runs", [
    ("If", 0), ("IfNot", 1), ("While", 0), ("DoWhile", 1), ("Until", 0), ("DoUntil", 1)])
def test_names_of_conditions_are_scoped_as_in_caffe2(kind, runs):
    workspace.FeedBlob("flag", np.array([True]))
    workspace.FeedBlob("outer/flag", np.array([False]))
    counting = _Counting()
    with core.NameScope("outer"):
        step = getattr(control, kind)(kind, "flag", counting.up)
    assert counting.run(step) == runs
