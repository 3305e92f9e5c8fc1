"""Copies of nets, of parts of them and of plans; changes of their operators."""

import inspect

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, core, model_helper, schema, workspace


def shapes_of(net):
    return [(op.type, list(op.input), list(op.output)) for op in net.Proto().op]


def diamond():
    """a, b -> left, right -> sum; `left` also reads the parameter p."""
    net = core.Net("diamond")
    a, b = net.AddExternalInput("a", "b")
    left = net.Mul([a, "p"], "left")
    right = net.Relu(b, "right")
    net.Add([left, right], "sum")
    return net


def test_part_of_a_net():
    net = diamond()
    part, (out,) = net.ClonePartial("part", {"a": "x", "b": "b"}, ["sum"])
    assert shapes_of(part) == [
        ("Mul", ["x", "p"], ["part/left"]), ("Relu", ["b"], ["part/right"]),
        ("Add", ["part/left", "part/right"], ["part/sum"])]
    assert list(part.Proto().external_input) == ["x", "b", "p"]
    assert out == "part/sum" and out.Net() is part
    one, _ = net.ClonePartial("one", ["left", "right"], ["sum"])
    assert shapes_of(one) == [("Add", ["left", "right"], ["one/sum"])]
    for name, value in (("x", 2), ("b", -1), ("p", 3)):
        workspace.FeedBlob(name, np.float32([value]))
    workspace.RunNetOnce(part)
    assert workspace.FetchBlob(out) == 6
    net.Split("sum", ["first", "second"], axis=0)
    with pytest.raises(AssertionError, match="itself"):
        net.ClonePartial("half", ["a", "b", "first"], ["second"])
    with pytest.raises(AssertionError, match="does not define"):
        net.ClonePartial("unknown", ["a"], ["nothing"])


def test_part_of_a_net_with_gradients_and_in_place_operators():
    net = core.Net("in_place")
    net.Relu("x", "y")
    net.AddGradientOperators(["y"])
    net.Relu("y", "y")
    part, (out,) = net.ClonePartial("forward", ["x"], ["y"])
    assert shapes_of(part) == [
        ("Relu", ["x"], ["forward/y"]), ("Relu", ["forward/y"], ["forward/y"])]
    assert out == "forward/y"


def test_order_of_operators_in_a_copy():
    net = core.Net("ordered")
    net.Relu("a", "first")
    net.Relu("b", "second", control_input="first")
    copy = net.Clone("copy", {"first": "renamed"})
    assert list(copy.Proto().op[1].control_input) == ["renamed"]


def test_external_blobs_of_some_operators():
    clone = diamond().Clone("tail", op_id_mask=[1, 2], update_external_list=True)
    assert list(clone.Proto().external_input) == ["b", "left"]
    assert list(clone.Proto().external_output) == ["sum"]


def test_renaming_reaches_nested_nets():
    inner, outer, net = core.Net("inner"), core.Net("outer"), core.Net("net")
    inner.Relu("x", "y")
    outer.If(["c", "x"], ["y"], then_net=inner.Proto())
    net.If(["c", "x"], ["y"], then_net=outer.Proto(), else_net=inner.Proto())
    clone = net.Clone("clone", {"x": "z"})
    outer_copy, inner_copy = (argument.n for argument in clone.Proto().op[0].arg)
    assert outer_copy.op[0].input == ["c", "z"] and inner_copy.op[0].input == ["z"]
    assert outer_copy.op[0].arg[0].n.op[0].input == ["z"]
    assert net.Proto().op[0].arg[1].n.op[0].input == ["x"]


def test_operator_between_others():
    net = core.Net("between")
    net.Relu("x", "y")
    net.Sigmoid("y", "z")
    net.Tanh("y", "t")
    net.AddExternalOutput("y")
    scale = core.CreateOperator("Mul", ["y", "factor"], ["scaled"])
    assert net.reroute_tensor("y", scale, [net.Proto().op[1]]) == 1
    assert shapes_of(net) == [
        ("Relu", ["x"], ["y"]), ("Mul", ["y", "factor"], ["scaled"]),
        ("Sigmoid", ["scaled"], ["z"]), ("Tanh", ["y"], ["t"])]
    assert net.external_outputs == ["scaled"] and "factor" in net.external_inputs
    with pytest.raises(ValueError, match="does not read"):
        net.reroute_tensor("x", scale)


def test_operators_named_after_their_lines():
    net = core.Net("named")
    net.Relu("x", "y")
    line = inspect.currentframe().f_lineno - 1
    net.PopulateProtoWithFileName()
    assert net.Proto().op[0].name == (
        f"{__file__}:{line}:test_operators_named_after_their_lines")


def test_external_inputs_of_a_record():
    net = core.Net("record")
    record = net.set_input_record(schema.Struct(("x", schema.Scalar(np.float32))))
    assert record.x() == "record/x" and record.x() in net.external_inputs
    with pytest.raises(AssertionError, match="already contains"):
        net.AddExternalInput(record.x())


def test_plan_from_its_message():
    init, body, report = core.Net("init"), core.Net("body"), core.Net("report")
    init.ConstantFill([], "count", shape=[1], value=0.0)
    init.ConstantFill([], "one", shape=[1], value=1.0)
    body.Add(["count", "one"], "count")
    report.Copy("count", "seen")
    step = core.execution_step("loop", body, num_iter=5, report_net=report, report_interval=1)
    plan = core.Plan("plan")
    plan.AddStep(core.execution_step("init", init))
    plan.AddStep(step)
    copy = core.Plan.create_from_proto(plan.Proto())
    assert [s.Name() for s in copy.Steps()] == ["init", "loop"]
    assert len(copy.Nets()) == len(plan.Nets()) == 3
    # Nets are renamed, and the steps with them.
    assert copy.Steps()[1].Proto().network == [copy.Nets()[1].Name()]
    assert copy.Steps()[1].Proto().report_net == copy.Nets()[2].Name() != report.Name()
    workspace.RunPlan(copy)
    assert workspace.FetchBlob("count") == 5


def test_recurrent_steps_go_to_the_gpu_with_their_net():
    step, net = core.Net("step"), core.Net("net")
    step.Relu("x", "y")
    net.RecurrentNetwork(["x"], ["y"], step_net=step.Proto())
    net.RunAllOnGPU(gpu_id=2, use_cudnn=True)
    nested = net.Proto().op[0].arg[0].n
    for proto in (net.Proto(), nested):
        assert proto.device_option.device_type == caffe2_pb2.CUDA
        assert proto.device_option.device_id == 2 and proto.op[0].engine == "CUDNN"


def test_complete_net_and_back():
    model = model_helper.ModelHelper("first")
    brew.fc(model, "x", "y", 3, 2)
    model.net.Proto().type = "dag"
    complete = model.GetCompleteNet()
    assert [op.type for op in complete.Proto().op] == ["XavierFill", "ConstantFill", "FC"]
    assert complete.Proto().type == "dag"
    other = model_helper.ModelHelper("second")
    other.ConstructInitTrainNetfromNet(complete)
    assert shapes_of(other.param_init_net) == shapes_of(model.param_init_net)
    assert shapes_of(other.net) == shapes_of(model.net)
    assert other.net.Proto().type == "dag"
    assert list(other.net.Proto().external_input) == ["x", "y_w", "y_b"]


def test_records_without_blobs():
    record = schema.Struct(("x", schema.Scalar(np.float32, core.BlobReference("b"))))
    assert record.has_blobs() and not record.clone_schema().has_blobs()
    assert record.clone_schema() == record


def test_a_step_from_its_message_takes_given_nets_and_makes_others():
    given, made = core.Net("given"), core.Net("made")
    step = core.execution_step("outer", [core.execution_step("inner", [given, made], num_iter=2)],
                               run_every_ms=40)
    assert step.Proto().run_every_ms == 40 and step.get_net(given.Name()) is given
    with pytest.raises(KeyError):
        step.get_net("unknown")
    nets = {given.Name(): given}
    copy = core.ExecutionStep.create_from_proto(
        step.Proto(), nets, {made.Name(): made.Proto()})
    assert copy.Proto().run_every_ms == 40 and copy.Substeps()[0].Proto().num_iter == 2
    assert copy.Nets() == [given, nets[made.Name()]] and nets[made.Name()] is not made
    with pytest.raises(ValueError, match="not given"):
        core.ExecutionStep.create_from_proto(step.Proto(), {}, {})
