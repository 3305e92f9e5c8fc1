"""Errors say what was wrong, where, and what was probably meant."""

import re
import warnings

import numpy as np
import pytest

from caffe2.python import (
    brew,
    core,
    data_parallel_model,
    model_helper,
    optimizer,
    utils,
    workspace,
)
from caffe2.python._core.operator_suggestions import OF_OTHER_LIBRARIES
from caffe2.python._core.operator_types import argument_names


def test_values_that_no_blob_takes():
    for value in (None, {"a": 1}, object(), {1, 2}):
        with pytest.raises(TypeError, match=f"a blob takes .* not {type(value).__name__}"):
            workspace.FeedBlob("x", value)
    for dtype in ("c8", "u4", "u8", "M8[s]"):
        with pytest.raises(TypeError, match="astype"):
            workspace.FeedBlob("x", np.zeros(3, dtype))
    with pytest.raises(TypeError, match="DeviceOption.*'gpu'"):
        workspace.FeedBlob("x", np.zeros(3), device_option="gpu")


def test_missing_blobs_and_nets_come_with_near_names():
    workspace.FeedBlob("conv1_w", np.zeros(3))
    with pytest.raises(RuntimeError, match="conv1_v.*did you mean conv1_w"):
        workspace.FetchBlob("conv1_v")
    with pytest.raises(RuntimeError, match="qqq") as error:
        workspace.FetchBlob("qqq")
    assert "did you mean" not in str(error.value)
    net = core.Net("train")
    workspace.CreateNet(net)
    for run in (workspace.RunNet, workspace.BenchmarkNetOnce,
                lambda name: core.Net(name).AddObserver("TimeObserver")):
        with pytest.raises(RuntimeError, match=f"trian.*did you mean {net.Name()}"):
            run("trian")
        with pytest.raises(RuntimeError, match=r"qqqq does not exist.*; workspace\.CreateNet\("):
            run("qqqq")


def test_a_net_that_exists_can_be_replaced():
    net = core.Net("twice")
    workspace.CreateNet(net)
    with pytest.raises(RuntimeError, match=r"already exists.*\n.*CreateNet\(net, overwrite=True\)"):
        workspace.CreateNet(net)


def test_arrays_of_64_bits_come_with_the_type_to_feed():
    workspace.FeedBlob("x", np.ones((2, 3)))
    workspace.FeedBlob("i", np.ones((2, 3), np.int64))
    net = core.Net("wide")
    net.Relu("x", "y")
    relu = core.CreateOperator("Relu", "x", "y")
    for run in (lambda: workspace.RunOperatorOnce(relu), lambda: workspace.RunNetOnce(net)):
        with pytest.raises(RuntimeError, match=r"double is not .*(\n.*)*astype\(numpy\.float32\)"):
            run()
    with pytest.raises(RuntimeError, match=r"int64_t is not .*\n.*astype\(numpy\.int32\)"):
        workspace.RunOperatorOnce(core.CreateOperator("Relu", "i", "y"))
    # What takes no float gets no such advice.
    with pytest.raises(RuntimeError, match="double") as error:
        workspace.RunOperatorOnce(core.CreateOperator("And", ["x", "x"], "y"))
    assert "astype" not in str(error.value)


def test_an_image_in_the_other_order_comes_with_the_order():
    workspace.FeedBlob("nhwc", np.ones((1, 20, 20, 3), np.float32))
    workspace.FeedBlob("nchw", np.ones((1, 3, 20, 20), np.float32))
    workspace.FeedBlob("other", np.ones((1, 20, 20, 5), np.float32))
    workspace.FeedBlob("w", np.ones((8, 3, 3, 3), np.float32))
    workspace.FeedBlob("b", np.ones(8, np.float32))
    for image, order, hint in (("nhwc", "NCHW", "the last axis of the input, of 3, .* to NHWC"),
                               ("nchw", "NHWC", "the second axis of the input, of 3, .* to NCHW"),
                               ("other", "NCHW", "")):
        with pytest.raises(RuntimeError, match="as many channels.*" + hint) as error:
            workspace.RunOperatorOnce(core.CreateOperator(
                "Conv", [image, "w", "b"], "y", kernel=3, order=order))
        assert hint or "axis" not in str(error.value)


@pytest.mark.parametrize("data", [b"hello", b"", b"\xff\x00\x01" * 30],
                         ids=["text", "empty", "noise"])
def test_bytes_that_are_no_blob(data):
    with pytest.raises(RuntimeError, match=f"the {len(data)} bytes are not a BlobProto, the form "
                       "in which SerializeBlob writes"):
        workspace.DeserializeBlob("q", data)


def test_masked_arrays_have_no_value_to_feed():
    array = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    ws = workspace.C.Workspace()
    for feed in (lambda value: workspace.FeedBlob("m", value),
                 lambda value: ws.feed_blob("m", value)):
        with pytest.raises(ValueError, match=r"masked array.*1 of its 3 .*array\.filled\(0\)"):
            feed(array)
    workspace.FeedBlob("m", array.filled(7))
    np.testing.assert_array_equal(workspace.FetchBlob("m"), [1, 7, 3])
    workspace.FeedBlob("m", np.ma.masked_array([1.0, 2.0]))  # without masked elements
    np.testing.assert_array_equal(workspace.FetchBlob("m"), [1, 2])


def test_unknown_operators_come_with_near_names():
    with pytest.raises(AttributeError, match="Rely.*Did you mean.*Relu"):
        core.Net("n").Rely("x", "y")
    with pytest.raises(RuntimeError, match="unknown operator Rely; did you mean Relu"):
        workspace.RunOperatorOnce(core.CreateOperator("Rely", "x", "y"))


def _unknown(owner, name):
    with pytest.raises(AttributeError) as error:
        getattr(owner, name)
    return str(error.value)


def test_names_of_other_libraries_come_with_the_operator():
    net = core.Net("n")
    owners = (net, model_helper.ModelHelper("m"), net.Relu("x", "y"))
    for name, meant in (
            ("Linear", "FC"), ("Dense", "FC"), ("FullyConnected", "FC"), ("FullyConected", "FC"),
            ("Convolution", "Conv"), ("Conv2d", "Conv"), ("conv2d", "Conv"), ("conv_2d", "Conv"),
            ("BatchNorm", "SpatialBN"), ("BatchNorm2d", "SpatialBN"),
            ("BatchNormalization", "SpatialBN"), ("MaxPool2d", "MaxPool"),
            ("MaxPooling2D", "MaxPool"), ("AvgPool2d", "AveragePool"), ("Embedding", "Gather"),
            ("CrossEntropyLoss", "SoftmaxWithLoss"),
            ("GlobalAveragePooling2D", "AveragePool with global_pooling=1")):
        for owner in owners:
            assert _unknown(owner, name) == (
                f"Method {name} is not a registered operator. Use the operator {meant}.")
    for name, text in OF_OTHER_LIBRARIES.items():
        operator, _, argument = text.partition(" with ")
        assert core.IsOperator(operator)
        assert argument.partition("=")[0] in ("", *argument_names(operator))
        same = {each for each in core._REGISTERED_OPERATORS if each.lower() == name}
        assert same <= {operator}  # none hides another operator


def test_names_in_another_case_and_methods_are_suggested():
    net = core.Net("n")
    for name, meant in (("ReLU", "Relu"), ("fc", "FC"), ("Sigmoid_", "Sigmoid"),
                        ("proto", "Proto"), ("AddExternalInptu", "AddExternalInput")):
        assert f"Did you mean: [{meant}" in _unknown(net, name)
    assert "Did you mean: [Run]" in _unknown(model_helper.ModelHelper("m"), "run")
    # Not what another class has, and no empty list.
    assert "Proto" not in _unknown(net.Relu("x", "y"), "proto")
    for owner in (net, model_helper.ModelHelper("m"), net.Relu("x", "y")):
        assert _unknown(owner, "NoSuch") == "Method NoSuch is not a registered operator."


def test_unknown_helpers_come_with_near_names():
    for name, meant in (("convolution", "conv"), ("max_pooling", "max_pool"), ("relo", "relu"),
                        ("linear", "fc"), ("Dense", r"fc\?$"), ("batch_norm", "spatial_bn"),
                        ("avg_pool", r"average_pool\?$")):
        with pytest.raises(AttributeError, match=f"{name} not registered. Did you mean: .*{meant}"):
            getattr(brew, name)
    with pytest.raises(AttributeError, match="qqqqqq not registered.$"):
        _ = brew.qqqqqq
    assert not hasattr(brew, "__wrapped__")


def test_failed_operators_name_their_inputs():
    workspace.FeedBlob("features", np.zeros((4, 7), np.float32))
    workspace.FeedBlob("weights", np.zeros((5, 8), np.float32))
    workspace.FeedBlob("bias", np.zeros(5, np.float32))
    net = core.Net("shapes")
    net.FC(["features", "weights", "bias"], "y")
    with pytest.raises(RuntimeError) as error:
        workspace.RunNetOnce(net)
    text = str(error.value)
    assert "has 7 features in each row" in text and "takes 8" in text
    assert "inputs: features float [4, 7], weights float [5, 8], bias float [5]" in text
    assert "shapes, operator 0, FC" in text


@pytest.mark.parametrize("op_type, shapes, arguments", [
    ("FC", [(2, 3), (4,), (4,)], {}),
    ("MatMul", [(2,), (4, 5)], {}),
    ("BatchMatMul", [(2, 3, 4), (3, 4, 6)], {}),
    ("Conv", [(1, 3, 8, 8), (4, 3, 5, 5)], {"kernel": 3}),
    ("Conv", [(1, 3, 2, 2), (4, 3, 3, 3)], {"kernel": 3}),
    ("Concat", [(2, 3), (2, 3)], {"axis": 5}),
    ("Add", [(2, 3), (4, 5)], {}),
    ("Mul", [(2, 3), (2,)], {"broadcast": 1, "axis": 5}),
    ("SoftmaxWithLoss", [(), (2,)], {}),
    ("Accuracy", [(2,), (2,)], {}),
    ("Reshape", [(2, 3)], {"shape": [4, 5]}),
    ("Gather", [(), (2,)], {}),
    ("Softmax", [(2, 3)], {"axis": 5})])
def test_operators_that_run_alone_name_their_inputs(op_type, shapes, arguments):
    names = [f"input_{i}" for i in range(len(shapes))]
    for name, shape in zip(names, shapes):
        workspace.FeedBlob(name, np.zeros(shape, np.float32))
    outputs = ["y", "z"] if op_type in ("Concat", "SoftmaxWithLoss", "Reshape") else ["y"]
    with pytest.raises(RuntimeError) as error:
        workspace.RunOperatorOnce(core.CreateOperator(op_type, names, outputs, **arguments))
    inputs = ", ".join(f"{name} float [{', '.join(map(str, shape))}]"
                       for name, shape in zip(names, shapes))
    assert f"(inputs: {inputs}) (operator {op_type} that writes y)" in str(error.value)


def test_shape_inference_names_the_inputs():
    net = core.Net("shapes")
    net.FC(["features", "weights", "bias"], "y")
    with pytest.raises(RuntimeError, match=r"shape inference of FC that writes y\) \(inputs: "
                                           r"features \[4, 7\], weights \[5\], bias \[5\]\)"):
        workspace.InferShapesAndTypes([net], {"features": [4, 7], "weights": [5], "bias": [5]})


def test_an_operator_that_cannot_be_made_does_not_name_its_inputs():
    workspace.FeedBlob("x", np.zeros(2, np.float32))
    op = core.CreateOperator("TopK", "x", ["y", "z"])
    op.arg.add(name="k", i=0)
    with pytest.raises(RuntimeError, match="argument k must be positive") as error:
        workspace.RunOperatorOnce(op)
    assert "inputs:" not in str(error.value)


def test_optimizers_refuse_what_cannot_work():
    model = model_helper.ModelHelper("m")
    loss = brew.fc(model, "x", "loss", 2, 1)
    with pytest.raises(ValueError, match="SgdOptimizer: base_learning_rate must be a number"):
        optimizer.build_sgd(model, base_learning_rate="a")
    with pytest.warns(UserWarning, match="updates nothing.*AddGradientOperators"):
        optimizer.build_sgd(model, base_learning_rate=0.1)
    model.AddGradientOperators([loss])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        optimizer.build_sgd(model, base_learning_rate=np.float32(0.1))


def _two_layers():
    model = model_helper.ModelHelper("pair")
    with core.NameScope("a"):
        hidden = brew.fc(model, "x", "fc", 2, 2)
    with core.NameScope("b"):
        loss = brew.fc(model, hidden, "fc", 2, 1)
    model.AddGradientOperators([loss])
    return model


def test_a_second_optimizer_of_the_same_parameters_is_refused():
    model = _two_layers()
    optimizer.add_weight_decay(model, 1e-4)
    optimizer.build_sgd(model, 0.1)
    before = len(model.net.Proto().op)
    with pytest.raises(ValueError, match=r"^AdamOptimizer would update a/fc_w, .* of model pair .* "
                       "after SgdOptimizer: .*UseOptimizer"):
        optimizer.build_adam(model, 0.1)
    assert len(model.net.Proto().op) == before
    optimizer.build_sgd(_two_layers(), 0.1)  # another model of the same name


def test_optimizers_of_different_parameters_go_together():
    model = _two_layers()
    with core.NameScope("a"):
        optimizer.build_sgd(model, 0.1)
    with core.NameScope("b"):
        optimizer.build_adam(model, 0.1)
    updates = [op.type for op in model.net.Proto().op if op.type in ("WeightedSum", "Adam")]
    assert sorted(updates) == ["Adam", "Adam", "WeightedSum", "WeightedSum"]
    with pytest.raises(ValueError, match="^SgdOptimizer .* after AdamOptimizer, SgdOptimizer"):
        optimizer.build_sgd(model, 0.1)


def test_helpers_refuse_what_no_layer_can_have():
    model = model_helper.ModelHelper("m")
    for call, text in (
            (lambda: brew.conv(model, "x", "y", 3, "a", kernel=3),
             "conv: dim_out is 'a', must be a positive integer"),
            (lambda: brew.conv(model, "x", "y", -3, 4, kernel=3), "conv: dim_in is -3"),
            (lambda: brew.fc(model, "x", "y", "a", 3), "fc: dim_in is 'a'"),
            (lambda: brew.fc(model, "x", "y", 4, dim_out=None), "fc: dim_out is None"),
            (lambda: brew.fc(model, "x", "y", 4, -3), "fc: dim_out is -3"),
            (lambda: brew.spatial_bn(model, "x", "y", "3"), "spatial_bn: dim_in is '3'"),
            (lambda: brew.fc(model, "x", "y", 4, 3, weight_init="XavierFill"),
             "such as ('XavierFill', {})"),
            (lambda: brew.conv(model, "x", "y", 3, 4, kernel=-1), "kernel is -1"),
            (lambda: brew.conv(model, "x", "y", 3, 4, kernel=[3, 0]), "kernel is [3, 0]"),
            (lambda: brew.conv(model, "x", "y", 3, 4, kernel=3, stride=-1),
             "conv: stride is -1, must be at least 1"),
            (lambda: brew.max_pool(model, "x", "y", kernel=0), "max_pool: kernel is 0"),
            (lambda: brew.max_pool(model, "x", "y", kernel_h=2, kernel_w=-2), "kernel_w is -2"),
            (lambda: brew.dropout(model, "x", "y", ratio=7.), "dropout: ratio is 7.0, must be"),
            (lambda: brew.dropout(model, "x", "y", ratio=float("nan")), "ratio is nan"),
            (lambda: model_helper.ModelHelper("m", arg_scope={"oder": "NHWC"}),
             "arg_scope has no key oder; did you mean order?"),
            (lambda: optimizer.build_sgd(model, 0.1, policy="stepp"),
             "SgdOptimizer: there is no policy 'stepp'; did you mean step?"),
            (lambda: optimizer.build_sgd(model, 0.1, policy="qq"),
             "no policy 'qq', but alter, composite"),
            (lambda: optimizer.build_sgd(model, 0.1, momentm=3),
             "SgdOptimizer has no argument momentm; did you mean momentum?")):
        with pytest.raises(ValueError) as caught:
            call()
        assert text in str(caught.value) and "\n" not in str(caught.value)
    assert not model.net.Proto().op and not model.params


def test_helpers_take_all_that_caffe2_takes():
    model = model_helper.ModelHelper("m", arg_scope={"order": "NCHW", "is_test": 1})
    brew.conv(model, "x", "a", np.int64(3), 4, kernel=(3, 1), stride_h=2, stride_w=1)
    brew.average_pool(model, "a", "b", kernel=0, global_pooling=True)
    brew.dropout(model, "b", "c", ratio=0)
    brew.fc(model, "c", "d", 4, 3, weight_init=("MSRAFill", {}, "more"))
    assert [op.type for op in model.net.Proto().op] == ["Conv", "AveragePool", "Dropout", "FC"]
    optimizer.SgdOptimizer(0.1, policy="step", gamma=0.5, stepsize=3, iter_val=2)


def test_unknown_arguments_warn_at_the_line_of_the_caller():
    net = core.Net("n")
    with pytest.warns(core.UnknownArgumentWarning, match="Conv has no argument kernal; did you "
                      "mean kernel") as caught:
        net.Conv(["x", "w"], "y", kernels=[3, 3], kernal=3)
    assert caught[0].filename == __file__
    assert net.Proto().op[0].arg[1].name == "kernal"  # kept
    with pytest.warns(core.UnknownArgumentWarning, match="it has: .*ratio"):
        net.Dropout("y", ["z", "mask"], qqqqqq=1)
    with warnings.catch_warnings():
        warnings.simplefilter("error", core.UnknownArgumentWarning)
        model = model_helper.ModelHelper("m", arg_scope={"order": "NCHW", "use_cudnn": True,
                                                         "ws_nbytes_limit": 1})
        with pytest.raises(core.UnknownArgumentWarning, match="stride"):
            brew.conv(model, "x", "y", 3, 4, kernel=3, strid=2)


def test_arguments_that_programs_of_caffe2_pass_do_not_warn():
    net = core.Net("n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", core.UnknownArgumentWarning)
        # The function of a Python operator may read them.
        net.Python(lambda inputs, outputs: None)(["x"], ["y"], spatial_scale=0.5)
        # Detectron gives the same arguments to each filler.
        net.MSRAFill([], "w", shape=[2, 2], std=0.001)
        with pytest.raises(core.UnknownArgumentWarning, match="MSRAFill has no argument mean"):
            net.MSRAFill([], "w", shape=[2, 2], mean=0.001)
        with pytest.raises(core.UnknownArgumentWarning, match="XavierFill has no argument std"):
            net.XavierFill([], "w", shape=[2, 2], std=0.001)
    assert [arg.name for arg in net.Proto().op[0].arg if arg.name == "spatial_scale"]


@pytest.mark.parametrize("inputs, outputs, message", [
    (["x", "w"], "y", "operator Relu has 1 input, not 2"),
    ([], "y", "operator Relu has 1 input, not 0"),
    ("x", ["y", "z"], "operator Relu has 1 output, not 2"),
])
def test_wrong_numbers_of_operands_warn_at_the_line_of_the_caller(inputs, outputs, message):
    net = core.Net("n")
    with pytest.warns(core.OperandCountWarning, match=message) as caught:
        net.Relu(inputs, outputs)
    assert caught[0].filename == __file__
    assert len(net.Proto().op) == 1  # kept, as in Caffe2


def test_wrong_operators_are_value_errors_on_request():
    net = core.Net("n")
    with warnings.catch_warnings():
        warnings.simplefilter("error", core.OperatorWarning)
        with pytest.raises(ValueError, match="Conv has 2 to 3 inputs, not 1"):
            net.Conv("x", "y", kernel=3)
        with pytest.raises(ValueError, match="Conv has no argument kernl; did you mean kernel"):
            net.Conv(["x", "w"], "y", kernl=3)
        with pytest.raises(ValueError, match="SoftmaxWithLoss has 2 outputs, not 1"):
            core.CreateOperator("SoftmaxWithLoss", ["x", "label"], "y")
        with pytest.raises(ValueError, match="Sum has 1 or more inputs, not 0"):
            net.Sum([], "y")
        net.Sum([f"x{i}" for i in range(100)], "y")  # any number
    assert [op.type for op in net.Proto().op] == ["Sum"]


def test_known_arguments_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error", core.UnknownArgumentWarning)
        net = core.Net("n")
        net.Conv(["x", "w"], "y", kernel_h=3, kernel_w=3, pads=[1, 1, 1, 1], strides=[1, 1],
                 order="NHWC", exhaustive_search=True, ws_nbytes_limit=1)
        net.MaxPool("y", "z", kernels=[2, 2], pad_t=1, pad_l=1, pad_b=1, pad_r=1)
        net.ConvTranspose(["z", "v"], "u", kernel=3, adjs=[1, 1])
        net.Relu("u", "u", order="NCHW", cudnn_exhaustive_search=True)
        # What scripts of Caffe2 give without effect is described, too.
        net.ChannelShuffle("u", "v", group=2, kernel=3)
        net.DepthSplit("u", ["v", "w"], dimensions=[1, 2])
        net.GRUUnit(["h", "g", "n", "t"], "h_new", forget_bias=0.0)
        net.DecayAdagrad(["p", "m1", "m2", "g", "lr", "it"], ["p", "m1", "m2"], beta2=0.9)
        net.RecurrentNetwork("x", ["y", "steps"], step_net=core.Net("step").Proto(),
                             backward_link_internal=["a"], backward_link_external=["b"],
                             backward_link_offset=[0], backward_link_window=[1])


def test_arguments_of_the_wrong_kind():
    with pytest.raises(ValueError, match="argument kernel is <object object.*must be an integer"):
        core.CreateOperator("Conv", ["x", "w"], "y", kernel=object())
    with pytest.raises(ValueError, match="argument kernel is {'a': 1}, must be an integer"):
        core.CreateOperator("Conv", ["x", "w"], "y", kernel={"a": 1})
    for value in (object(), {"a": 1}):
        with pytest.raises(ValueError, match=f"key=kernel.*{type(value).__name__}"):
            utils.MakeArgument("kernel", value)
    workspace.FeedBlob("x", np.zeros((1, 3, 8, 8), np.float32))
    workspace.FeedBlob("w", np.zeros((4, 3, 3, 3), np.float32))
    for kernel in ("3", 3.5, [3, 3]):
        with pytest.raises(ValueError, match="operator Conv: argument kernel .* be an integer"):
            core.CreateOperator("Conv", ["x", "w"], "y", kernel=kernel)
        operator = core.CreateOperator("Conv", ["x", "w"], "y")
        operator.arg.append(utils.MakeArgument("kernel", kernel))  # as another program may
        with pytest.raises(RuntimeError, match="argument kernel.*integer.*Conv"):
            workspace.RunOperatorOnce(operator)


@pytest.mark.parametrize("device", ["cpu", 1, b"cpu", ["cpu"], np.int64(1)])
def test_what_is_no_device_is_refused_with_an_example(device):
    def scope():
        with core.DeviceScope(device):
            pytest.fail("entered")

    for call in (scope, lambda: core.Net("n").Relu("x", "y", device_option=device),
                 lambda: core.CreateOperator("Relu", "x", "y", device_option=device),
                 lambda: workspace.FeedBlob("x", np.zeros(3), device_option=device)):
        with pytest.raises(TypeError, match=r"a DeviceOption, such as core.DeviceOption\(caffe2_pb2"
                           f".CPU.*, not {re.escape(repr(device))}$"):
            call()
    assert core.scope.CurrentDeviceScope() is None


def test_device_options_are_made_of_integers():
    with pytest.raises(TypeError, match="device_type is 'cpu', must be an integer, such as caffe2"):
        core.DeviceOption("cpu")
    for arguments in ({"cuda_gpu_id": "0"}, {"device_id": "0"}):
        with pytest.raises(TypeError, match="DeviceOption: device_id is '0', must be an integer"):
            core.DeviceOption(0, **arguments)
    assert core.DeviceOption(np.int32(1), np.int64(2)).device_id == 2


@pytest.mark.parametrize("devices", [[], 2, ["a"], [-1], [0, 0], [0.0], "0"])
def test_devices_of_replicas_are_different_numbers(devices):
    model = model_helper.ModelHelper("m")
    with pytest.raises(ValueError, match="^devices is .*, must be a list of different numbers from "
                       r"0 on, such as \[0, 1\]$") as error:
        data_parallel_model.Parallelize_CPU(
            model, lambda model: None, lambda model, scale: [], devices=devices)
    assert repr(devices) in str(error.value)


def test_builders_of_replicas_are_functions():
    for name in ("input_builder_fun", "forward_pass_builder_fun"):
        builders = {"input_builder_fun": lambda model: None,
                    "forward_pass_builder_fun": lambda model, scale: [], name: None}
        with pytest.raises(TypeError, match=f"^{name} is None, must be a function"):
            data_parallel_model.Parallelize_CPU(
                model_helper.ModelHelper("m"), devices=[0], **builders)


def test_names_and_engines_are_strings():
    for name in ("name", "engine", "debug_info"):
        with pytest.raises(TypeError, match=f"operator Relu: {name} is 3, must be a string"):
            core.Net("n").Relu("x", "y", **{name: 3})
