"""Calls with wrong operands: errors say what to give instead."""

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    brew,
    core,
    device_checker,
    functional,
    gradient_checker,
    layer_model_helper,
    model_helper,
    optimizer,
    schema,
    workspace,
)


@pytest.fixture(autouse=True)
def empty_workspace():
    workspace.ResetWorkspace()


def _message(error, call, *args, **kwargs):
    with pytest.raises(error) as caught:
        call(*args, **kwargs)
    return str(caught.value)


def test_blobs_one_by_one_are_refused_with_the_lists():
    net = core.Net("n")
    x = net.Relu("a", "x")
    text = "operator FC takes its inputs and its outputs, each a blob or a list of them, and "
    for owner in (net, model_helper.ModelHelper("m")):
        assert _message(TypeError, owner.FC, x, "w", "b", "y") == (
            text + 'arguments by name, not 4 values: FC(["x", "w", "b"], "y")')
    assert _message(TypeError, net.Softmax, "x", "y", 1).endswith("not 3 values")
    assert len(net.Proto().op) == 1
    # Of a blob, which is the first input.
    assert _message(TypeError, x.FC, "w", "b", "y").endswith('FC(["w", "b"], "y")')


def test_what_is_no_blob_is_refused_with_what_to_give():
    net = core.Net("n")
    for value in (None, {"x"}, net, (name for name in "ab")):
        message = _message(TypeError, net.Relu, value, "y")
        assert message.endswith("; give the name of a blob, a BlobReference or a list of them")
    for value in (np.zeros(3), 3.0, [np.zeros(1000)]):
        message = _message(TypeError, net.Relu, value, "y")
        assert message.endswith("; workspace.FeedBlob makes a blob of an array")
        assert len(message) < 300
    x = net.Relu("a", "x")
    assert _message(TypeError, lambda: x + x).endswith("; net.Add adds the values of blobs")
    assert x + "_grad" == "x_grad"


def test_numbers_of_outputs():
    net = core.Net("splits")
    assert [str(blob) for blob in net.Split("x", np.int64(2))] == [
        f"{net.Name()}/Split:{i}" for i in range(2)]
    assert _message(ValueError, net.Split, "x", -1) == "operator Split: -1 outputs"


def test_messages_of_another_kind_are_refused():
    net, operator = core.Net("n"), core.CreateOperator("Relu", "x", "y")
    for wanted, fitting, calls in (
            ("a Net, a ModelHelper or a NetDef", net, (
                workspace.CreateNet, workspace.RunNetOnce, workspace.Workspace().create_net,
                workspace.InferShapesAndTypes)),
            ("a Plan or a PlanDef", None, (workspace.RunPlan, workspace.RunPlanInBackground)),
            ("an OperatorDef (core.CreateOperator)", operator, (
                workspace.RunOperatorOnce,
                lambda value: workspace.RunOperatorMultiple(value, 1)))):
        for call in calls:
            for value in (3, {}, net, operator):
                if value is not fitting:
                    assert _message(TypeError, call, value) == (
                        f"{wanted} is needed, not {value!r} of type {type(value).__name__}")
    model = model_helper.ModelHelper("m")
    assert workspace.CreateNet(model)
    assert _message(TypeError, workspace.RunNet, model).endswith("; give its net")


@pytest.mark.parametrize("count", ["3", -1, 2.0, None])
def test_numbers_of_runs(count):
    net = core.Net("runs")
    workspace.CreateNet(net)
    assert _message(ValueError, workspace.RunNet, net, count) == (
        f"RunNet: num_iter is {count!r}, must be an integer from 0 on")
    assert workspace.RunNet(net, np.int64(2))


def test_an_init_net_that_did_not_run_is_named():
    models = [model_helper.ModelHelper(name) for name in ("before", "forgot", "forgot", "after")]
    for each in models:
        brew.fc(each, "data", "y", 3, 2)
    model = models[2]
    workspace.FeedBlob("data", np.zeros((1, 3), np.float32))
    hint = (f"Net {model.param_init_net.Name()} writes y_w: run it first, such as with "
            "workspace.RunNetOnce(model.param_init_net)")
    for call in (workspace.RunNetOnce, workspace.CreateNet):
        assert _message(RuntimeError, call, model.net).endswith("\n" + hint)
    workspace.RunNetOnce(model.param_init_net)
    assert workspace.RunNetOnce(model.net)
    # No net that exists writes it.
    net = core.Net("n")
    net.Relu("dta", "z")
    message = _message(RuntimeError, workspace.RunNetOnce, net)
    assert "external input dta does not exist" in message and "run it first" not in message


@pytest.mark.parametrize("value, named", [
    (2**70, "1180591620717411303424"), ([1, -2**70], "-1180591620717411303424"),
    ([1, None], "None"), ([[1.5, {}]], "{}")])
def test_lists_that_no_blob_takes(value, named):
    assert _message(TypeError, workspace.FeedBlob, "x", value) == (
        f"a blob takes numbers of at most 64 bits and strings, not {named}")
    assert not workspace.HasBlob("x")


def test_several_blobs_are_fetched_by_a_list():
    workspace.FeedBlob("a", 1)
    assert workspace.FetchBlobs(["a", "a"]) == [1, 1]
    for name in ("ab", "a", b"a"):
        assert "takes a list of blobs" in _message(TypeError, workspace.FetchBlobs, name)


def test_optimizers_need_a_model():
    for model in (None, core.Net("n")):
        for build in (optimizer.build_sgd, optimizer.build_adam):
            message = _message(TypeError, build, model, 0.1)
            assert message.endswith(f"Optimizer: a ModelHelper is needed, not {model!r}")
    for rate in (float("nan"), float("inf"), np.float32("nan")):
        assert "must be a number, not " in _message(
            ValueError, optimizer.build_sgd, model_helper.ModelHelper("m"), rate)


def test_losses_are_a_list():
    for owner in (model_helper.ModelHelper("m"), core.Net("n")):
        loss = brew.fc(owner, "x", "loss", 2, 1) if hasattr(owner, "params") else "loss"
        assert _message(TypeError, owner.AddGradientOperators, loss).endswith(
            f'not {loss!r}; give ["loss"]')
        assert _message(TypeError, owner.AddGradientOperators, None).endswith("not None")


def test_a_refused_backward_pass_can_be_asked_for_again():
    model = model_helper.ModelHelper("m")
    loss = brew.fc(model, "x", "loss", 2, 1)
    with pytest.raises(RuntimeError, match="computes no blob los to differentiate"):
        model.AddGradientOperators(["los"])
    assert model.AddGradientOperators([loss])["loss_w"] == "loss_w_grad"
    with pytest.raises(RuntimeError, match="twice"):
        model.AddGradientOperators([loss])


def test_groups_and_initial_values_of_layers():
    model = model_helper.ModelHelper("m")
    for group in (0, "1", 1.0):
        assert _message(ValueError, brew.conv, model, "x", "y", 2, 4, 3, group=group) == (
            f"conv: group is {group!r}, must be a positive integer")
    assert _message(ValueError, lambda: brew.fc(
        model, "x", "y", 2, 4, weight_init=np.zeros((4, 2)))).endswith(
            "must be a pair of operator and arguments, such as ('XavierFill', {})")
    assert _message(AttributeError, lambda: brew.fc(
        model, "x", "y", 2, 4, weight_init=("Xavier", {}))).endswith("Did you mean: [XavierFill]")
    assert not model.net.Proto().op and not model.params


def test_unknown_fields_of_records_come_with_the_fields():
    record = schema.Struct(("alpha", schema.Scalar()), ("beta", schema.Scalar()))
    assert _message(AttributeError, getattr, record, "alpa") == (
        "the record has no field alpa; did you mean alpha?")
    assert "the record has no field zzz, but alpha, beta" in _message(
        KeyError, record.__getitem__, "zzz")
    assert record.get("zzz", 3) == 3 and not hasattr(record, "zzz")
    many = schema.Struct(*((f"field_{i}", schema.Scalar()) for i in range(1000)))
    assert len(_message(AttributeError, getattr, many, "zzz")) <= 300


def test_records_are_fields():
    for method in (core.Net("n").set_input_record, core.Net("n").set_output_record):
        for value in (3, None, {"a": 1}):
            assert _message(TypeError, method, value) == (
                f"a record is a schema.Field, such as a schema.Struct, not {value!r}")


def test_constants_and_functions_in_nets():
    net = core.Net("n")
    for value in (None, core.BlobReference("x"), [1, None]):
        assert "a constant is made of numbers or strings, not " in _message(
            TypeError, net.Const, value)
    assert _message(TypeError, net.Python, 3) == "a Python operator calls a function, not 3"
    assert not net.Proto().op


def test_initializers_and_helpers_of_scopes():
    model = model_helper.ModelHelper("m")
    for value in ("XavierFill", None):
        assert _message(TypeError, model.create_param, "w", [3], value).startswith(
            f"parameter w: the initializer is {value!r}, must be one such as initializers.")
    message = _message(TypeError, brew.fc, model, "x", "y", 2, 3, WeightInitializer="XavierFill")
    assert message == ("an initializer is a class or an object of modeling.initializers, not "
                       "'XavierFill'; operators are given as weight_init=('XavierFill', {})")
    assert not model.params
    for value in ("conv", ["conv"]):
        message = _message(ValueError, brew.arg_scope(value, order="NHWC").__enter__)
        assert message.endswith(f"such as [brew.conv, brew.fc], not {value!r}")


def test_checkers_refuse_what_checks_nothing():
    operator = core.CreateOperator("Relu", "x", "y")
    x = np.ones(3, np.float32)
    checker = gradient_checker.GradientChecker(0.01, 0.01)
    assert _message(IndexError, checker.CheckSimple, operator, [x], 1, [0]) == (
        "input_to_check is 1, but there are 1 inputs")
    assert _message(IndexError, checker.CheckSimple, operator, [x], 0, [3]) == (
        "outputs_with_grads is 3, but there are 1 outputs")
    assert checker.CheckSimple(operator, [x], 0, [0])[0]
    assert "there are no devices" in _message(ValueError, device_checker.DeviceChecker, 0.01, [])
    checker = device_checker.DeviceChecker(0.01, ["cpu"])
    for check, arguments in ((checker.CheckSimple, (operator, [x], [0])),
                             (checker.CheckNet, (caffe2_pb2.NetDef(op=[operator]), {"x": x}))):
        assert "a device is a DeviceOption" in _message(TypeError, check, *arguments)


def test_functional_and_layers_suggest_names():
    assert _message(AttributeError, getattr, functional.Functional, "Linear") == (
        "Method Linear is not a registered operator. Use the operator FC.")
    model = layer_model_helper.LayerModelHelper("m", schema.Struct(), schema.Struct())
    for name, meant in (("Linear", "; did you mean FC?"), ("Fc", "; did you mean FC?"),
                        ("BatchMSELos", "; did you mean BatchMSELoss?"), ("Qqqqqq", "")):
        assert _message(AttributeError, getattr, model, name) == (
            f"Trying to create non-registered layer: {name}{meant}")
