"""Names, operators, nets, gradients and steps of caffe2.python.core."""

import sys

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2, metanet_pb2, predictor_consts_pb2
from caffe2.python import control_ops_grad, core, schema, scope, utils, workspace


def test_messages():
    assert caffe2_pb2.CUDA == 1
    assert caffe2_pb2.TensorProto.FLOAT == 1
    assert predictor_consts_pb2.PredictorConsts().META_NET_DEF == "!!META_NET_DEF"
    meta = metanet_pb2.MetaNetDef()
    meta.nets.add(key="k").value.name = "n"
    assert metanet_pb2.MetaNetDef.FromString(meta.SerializeToString()) == meta


def test_scopes():
    assert scope.CurrentNameScope() == ""
    with core.NameScope("a"):
        with core.NameScope("b"):
            assert core.ScopedName("x") == "a/b/x"
            with core.NameScope("c", reset=True):
                assert core.ScopedName("x") == "c/x"
        assert str(core.ScopedBlobReference("y")) == "a/y"
    option = core.DeviceOption(caffe2_pb2.CUDA, 2)
    with core.DeviceScope(option):
        assert scope.CurrentDeviceScope() == option
        with core.EmptyDeviceScope():
            assert scope.CurrentDeviceScope() is None
    with pytest.raises(TypeError):
        with core.NameScope(3):
            pass


def test_blob_reference():
    blob = core.BlobReference("a/x")
    assert blob == "a/x" and hash(blob) == hash("a/x")
    assert blob + "_grad" == "a/x_grad" and "_" + blob == "_a/x"
    assert blob.GetNameScope() == "a/"
    net = core.Net("reference")
    y = net.Relu("x", "y")
    z = y.Relu([], "z")
    assert z == "z" and net.Proto().op[1].input == ["y"]
    with pytest.raises(AttributeError, match="net source"):
        blob.Relu([], "z")


def test_create_operator():
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CUDA, 1)), core.NameScope("s"):
        op = core.CreateOperator("FC", ["x", core.BlobReference("w")], "y", axis=2, name="fc",
                                 engine="E", nothing=None)
    assert list(op.input) == ["s/x", "w"] and list(op.output) == ["s/y"]
    assert op.device_option.device_id == 1 and op.engine == "E"
    assert [argument.name for argument in op.arg] == ["axis"]
    assert core.CreateOperator("X", [], [], random_seed=7).device_option.random_seed == 7
    with pytest.raises(TypeError, match="#1"):
        core.CreateOperator("FC", ["x", 3], "y")
    with pytest.raises(ValueError, match="key=k"):
        core.CreateOperator("FC", "x", "y", k=object())


@pytest.mark.parametrize("value, field, stored", [
    (True, "i", 1), (3, "i", 3), (np.int64(3), "i", 3), (1.5, "f", 1.5), ("s", "s", b"s"),
    (b"s", "s", b"s"), ([1, 2], "ints", [1, 2]), ((1, 2.5), "floats", [1, 2.5]),
    (["a", b"b"], "strings", [b"a", b"b"]), (np.array([1.5]), "floats", [1.5]),
    (caffe2_pb2.NetDef(name="n"), "n", caffe2_pb2.NetDef(name="n")),
])
def test_arguments(value, field, stored):
    argument = utils.MakeArgument("k", value)
    result = getattr(argument, field)
    assert (list(result) if isinstance(stored, list) else result) == stored


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "uint8", "bool", "S2"])
def test_tensor_protos(dtype):
    values = np.array([[0, 1], [2, 3]]).astype(dtype)
    back = utils.Caffe2TensorToNumpyArray(utils.NumpyArrayToCaffe2Tensor(values, "t"))
    np.testing.assert_array_equal(back, values)


def test_unknown_operator_suggests():
    net = core.Net("unknown")
    with pytest.raises(AttributeError, match="Relu"):
        net.Rellu("x", "y")
    with pytest.raises(AttributeError):
        net._private  # noqa: B018


def test_net_names_and_outputs():
    first, second = core.Net("named_twice"), core.Net("named_twice")
    assert second.Name() == first.Name() + "_1"
    assert first.Relu("x") == "named_twice/Relu"
    assert first.Relu("x") == "named_twice/Relu_2"
    outputs = first.Split("x", 2, axis=0)
    assert [str(o) for o in outputs] == ["named_twice/Split:0", "named_twice/Split:1"]
    assert list(first.Proto().external_input) == ["x"]
    assert first.NextBlob("x") == "x_auto_0"
    assert first.NextScopedBlob("new") == "new" and first.NextScopedBlob("new") == "new_auto_0"
    with pytest.raises(AssertionError, match="already contains"):
        first.AddExternalInput("x")
    with pytest.raises(KeyError):
        first.GetBlobRef("none")


def test_names_of_outputs_are_the_first_free_ones(monkeypatch):
    net = core.Net("names")
    checks = []
    defined = core.Net.BlobIsDefined
    monkeypatch.setattr(core.Net, "BlobIsDefined",
                        lambda self, blob: checks.append(blob) or defined(self, blob))
    names = [str(net.Relu("x")) for _ in range(200)]
    assert names == [f"{net.Name()}/Relu" + (f"_{i}" if i > 1 else "") for i in range(1, 201)]
    assert len(checks) < 200 * 5  # not all earlier names for each
    assert net.NextName("Relu") == net.NextName("Relu") == f"{net.Name()}/Relu_201"
    assert str(net.Relu("x", 1)) == f"{net.Name()}/Relu:0"
    assert str(net.Relu("x", 1)) == f"{net.Name()}/Relu_2:0"
    with core.NameScope("inner"):
        assert str(net.Relu("x")) == f"inner/{net.Name()}/Relu"
    del net.Proto().op[5:]
    net._InvalidateLookupTables()
    assert net.NextName("Relu") == f"{net.Name()}/Relu_6"
    net.Relu("x", f"{net.Name()}/Relu_6")
    assert net.NextName("Relu") == f"{net.Name()}/Relu_7"


@pytest.mark.parametrize("call", [
    lambda net: net.Conv(["new", "w"], "y", kernel="x"),
    lambda net: net.TopK("new", ["values", "indices"]),
    lambda net: net.Relu("new", 5.0),
    lambda net: net.Relu("new", "y", device_option="no device"),
    lambda net: net.Sum(["new", core.BlobReference("lost", net)], "y"),
    lambda net: net.Softmax("new", axis=[1, 2]),
])
def test_a_refused_call_leaves_its_net_as_it_was(call):
    net = core.Net("refused")
    net.Relu("x", "y")
    before = net.Proto().SerializeToString()
    with pytest.raises((TypeError, ValueError)):
        call(net)
    assert net.Proto().SerializeToString() == before
    assert not net.BlobIsDefined("new") and net.BlobIsDefined("x")
    with pytest.raises(KeyError):
        net.GetBlobRef("new")
    # An output without a name still does not overwrite an input that the same call declares.
    assert net.Relu(f"{net.Name()}/Relu") == f"{net.Name()}/Relu_2"
    assert net.Sigmoid("new", "z") == "z" and net.external_inputs[-1] == "new"


def test_net_copies():
    net = core.Net("source")
    net.Relu("x", "y")
    net.Sigmoid("y", "z")
    clone = net.Clone("clone", {"x": "in"})
    assert list(clone.Proto().external_input) == ["in"]
    assert clone.Proto().op[0].input == ["in"]
    part, outputs = net.ClonePartial("part", {"y": "start"}, ["z"])
    assert [op.type for op in part.Proto().op] == ["Sigmoid"]
    assert list(part.Proto().external_input) == ["start"] and outputs == ["part/z"]
    both = core.Net("both").AppendNet(net).AppendNet(part)
    assert [op.type for op in both.Proto().op] == ["Relu", "Sigmoid", "Sigmoid"]
    copy = core.Net(net.Proto())
    assert copy.Name() == "source_1" and len(copy.Proto().op) == 2


@pytest.mark.parametrize("values", [
    np.float32([[1, 2]]), np.float64([1]), np.int32([1]), np.int64([2**40]), np.array([True]),
    np.array(["a", "b"]), np.float32(3)])
def test_const(values):
    net = core.Net("const")
    blob = net.Const(values)
    workspace.RunNetOnce(net)
    fetched = workspace.FetchBlob(blob)
    assert fetched.shape == values.shape
    if values.dtype.kind == "f":
        assert fetched.dtype == np.float32  # as in Caffe2
    flat = [x.decode() if isinstance(x, bytes) else x for x in fetched.ravel()]
    assert flat == values.ravel().tolist()


def test_gradient_of_a_small_net():
    rng = np.random.default_rng(0)
    x, w, b = (rng.standard_normal(s).astype(np.float32) for s in ((4, 3), (2, 3), (2,)))
    for name, value in (("x", x), ("w", w), ("b", b)):
        workspace.FeedBlob(name, value)
    net = core.Net("small")
    y = net.Relu(net.FC(["x", "w", "b"], "fc"), "relu")
    loss = net.AveragedLoss(y, "loss")
    gradients = net.AddGradientOperators([loss])
    assert gradients["w"] == "w_grad" and gradients["loss"] == "loss_autogen_grad"
    workspace.RunNetOnce(net)
    out = (x @ w.T + b > 0) / np.float32(8)
    np.testing.assert_allclose(workspace.FetchBlob("w_grad"), out.T @ x, rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob("b_grad"), out.sum(0), rtol=1e-5)
    np.testing.assert_allclose(workspace.FetchBlob("x_grad"), out @ w, rtol=1e-5)


def test_gradients_of_a_blob_that_is_read_twice_are_summed():
    net = core.Net("shared")
    a, b = net.Sigmoid("x", "a"), net.Relu("x", "b")
    net.Add([a, b], "y")
    gradients = net.AddGradientOperators({"y": "y_seed"})
    assert gradients["x"] == "x_grad"
    sums = [op for op in net.Proto().op if op.type == "Sum"]
    assert list(sums[-1].input) == ["x_grad", "_x_grad_autosplit_0"]
    x = np.float32([-1.0, 2.0])
    workspace.FeedBlob("x", x)
    workspace.FeedBlob("y_seed", np.float32([1.0, 3.0]))
    workspace.RunNetOnce(net)
    sigmoid = 1 / (1 + np.exp(-x))
    expected = (sigmoid * (1 - sigmoid) + (x > 0)) * [1, 3]
    np.testing.assert_allclose(workspace.FetchBlob("x_grad"), expected, rtol=1e-5)


def test_gradient_errors_and_python_gradients():
    net = core.Net("no_gradient")
    net.Accuracy(["x", "label"], "accuracy")
    with pytest.raises(RuntimeError, match="Accuracy"):
        net.AddGradientOperators(["accuracy"])

    @core.GradientRegistry.RegisterGradient("TestOnlyTwice")
    def gradient(op, g_output):
        return [core.CreateOperator("Scale", g_output[0], op.input[0] + "_grad", scale=2.0)], [
            op.input[0] + "_grad"]

    op = core.CreateOperator("TestOnlyTwice", "x", "y")
    ops, gradients = core.GradientRegistry.GetBackwardPass([op], ["y"])
    assert ops == [
        core.CreateOperator("ConstantFill", "y", "y_autogen_grad", value=1.0),
        core.CreateOperator("Scale", "y_autogen_grad", "x_grad", scale=2.0)]
    assert gradients["x"] == "x_grad"


def test_gradients_start_in_the_order_of_the_losses():
    operators = [core.CreateOperator("Sigmoid", "x", y) for y in ("b", "a")]
    ops, _ = core.GradientRegistry.GetBackwardPass(operators, ["b", "a"])
    assert [op.output[0] for op in ops[:2]] == ["b_autogen_grad", "a_autogen_grad"]


def test_sums_of_gradients_are_marked_and_lie_where_these_do():
    def sum_of(*extra_info):
        with core.DeviceScope(core.DeviceOption(0, node_name="n", extra_info=list(extra_info))):
            operators = [core.CreateOperator("Sigmoid", "x", y) for y in ("a", "b")]
            operators.append(core.CreateOperator("Mul", ["a", "b"], "y"))
        return core.GradientRegistry.GetBackwardPass(operators, {"y": "seed"})[0][-1]

    marked = f"{core.IR.IS_AUTO_GEN_SUM_OPS_TAG}:1"
    device = sum_of("shard:1").device_option
    assert device.node_name == "n" and device.extra_info == ["shard:1", marked]
    device = sum_of("shard:1", f"{core.IR.ONLY_KEEP_IS_AUTO_GEN_SUM_OPS_TAG}:1").device_option
    assert device.node_name == "n" and device.extra_info == [marked]


def test_stop_gradient_must_stop_something():
    stop = core.CreateOperator("StopGradient", "x", "stopped")
    with pytest.raises(ValueError, match="nothing reads stopped"):
        core.GradientRegistry.GetBackwardPass(
            [stop, core.CreateOperator("Sigmoid", "x", "y")], ["y"])
    in_place = [core.CreateOperator("StopGradient", "x", "x"),
                core.CreateOperator("Sigmoid", "x", "y")]
    _, gradients = core.GradientRegistry.GetBackwardPass(in_place, {"y": "y_grad"})
    assert gradients == {"y": "y_grad"}


def test_versions_that_a_gradient_needs_must_be_there():
    operators = [core.CreateOperator("Sigmoid", "x", "x"), core.CreateOperator("Sigmoid", "u", "x"),
                 core.CreateOperator("Sigmoid", "x", "y")]
    with pytest.raises(RuntimeError, match="version 1 of blob x, which nothing reads"):
        core.GradientRegistry.GetBackwardPass(operators, ["y"])
    with pytest.raises(RuntimeError, match="Mul does not fit its schema"):
        core.GradientRegistry.GetBackwardPass([core.CreateOperator("Mul", "x", ["y", "z"])], ["y"])
    net = core.Net("scores")
    net.Accuracy(["x", "label"], "y")
    with pytest.raises(RuntimeError, match="gradient of net scores, operator 0, Accuracy"):
        net.AddGradientOperators(["y"])


def test_python_operators():
    def forward(inputs, outputs):
        outputs[0].feed(inputs[0].data * 2)

    def backward(inputs, outputs):
        outputs[0].reshape(inputs[2].shape)
        outputs[0].feed(inputs[2].data * 2)

    net = core.Net("python")
    net.Python(forward, backward)("x", "y")
    net.AddGradientOperators({"y": "seed"})
    workspace.FeedBlob("x", np.float32([1, 2]))
    workspace.FeedBlob("seed", np.float32([3, 4]))
    workspace.RunNetOnce(net)
    np.testing.assert_array_equal(workspace.FetchBlob("y"), [2, 4])
    np.testing.assert_array_equal(workspace.FetchBlob("x_grad"), [6, 8])


class _OwnError(Exception):
    pass


@pytest.mark.parametrize("net_type", ["simple", "dag", "parallel"])
def test_exceptions_of_python_operators_come_through(net_type):
    def fail(inputs, outputs):
        raise _OwnError("on purpose")

    net = core.Net("failing")
    net.Proto().type = net_type
    net.Python(fail)([], [])
    with pytest.raises(_OwnError) as caught:
        workspace.RunNetOnce(net)
    assert str(caught.value) == "on purpose"
    assert caught.traceback[-1].name == "fail"
    if sys.version_info >= (3, 11):
        notes = "\n".join(caught.value.__notes__)
        assert f"net {net.Name()}, operator 0, Python" in notes
        assert "test_core.py" in notes


def test_exceptions_of_builders_of_python_operators_come_through():
    def build():
        raise _OwnError("cannot build")

    with pytest.raises(_OwnError, match="cannot build"):
        workspace.RunOperatorOnce(core.CreatePythonOperator((build, [], {}), [], []))


def test_python_operators_see_shapes_as_tuples_and_make_floats():
    def double(inputs, outputs):
        assert inputs[0].shape == (2, 3)
        outputs[0].reshape(inputs[0].shape)
        outputs[0].data[...] = inputs[0].data * 2

    workspace.FeedBlob("x", np.arange(6, dtype=np.int32).reshape(2, 3))
    workspace.RunOperatorOnce(core.CreatePythonOperator(double, ["x"], ["y"]))
    result = workspace.FetchBlob("y")
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, [[0, 2, 4], [6, 8, 10]])


def test_external_inputs_from_records():
    net = core.Net("with_records")
    references = net.AddExternalInput(schema.Struct(("x", np.float32), ("y", schema.List(int))))
    assert references == ["x", "y:lengths", "y:values"] == net.external_inputs
    with pytest.raises(AssertionError, match="x"):
        net.AddExternalInput(schema.Struct(("x", np.float32)))
    record = schema.Struct(("a", schema.Scalar(blob=core.BlobReference("blob"))))
    assert net.AddExternalInput(record) == "blob"
    assert net.AddExternalInput(["p", "q"]) == ["p", "q"]
    assert net.external_inputs[-2:] == ["p", "q"]


def test_extra_info_of_device_scopes_adds_up():
    with core.DeviceScope(core.DeviceOption(0, extra_info=["a:1"])):
        with core.DeviceScope(core.DeviceOption(0, extra_info=["b:2"])):
            assert core.CreateOperator("Relu", "x", "y").device_option.extra_info == ["a:1", "b:2"]
        assert scope.CurrentDeviceScope().extra_info == ["a:1"]


def test_external_blobs_have_no_name_scope():
    net = core.Net("scoped")
    with core.NameScope("a"):
        assert net.AddExternalInput("a/x") == "a/x"
        assert net.AddScopedExternalInputs("y") == "a/y"
    with pytest.raises(TypeError, match="AddExternalInput takes blobs, not 3"):
        net.AddExternalInput(3)


def test_operators_that_fail():
    for op_type, allowed in (("ThrowException", False), ("Fail", True)):
        net = core.Net("fails")
        net.Proto().type = "async_scheduling"
        getattr(net, op_type)([], [])
        workspace.CreateNet(net)
        with pytest.raises(RuntimeError):
            workspace.RunNet(net)
        if allowed:
            assert not workspace.RunNet(net, allow_fail=True)


def test_inputs_that_nothing_reads_need_not_exist():
    net = core.Net("unused")
    net.AddExternalInput("absent")
    net.ConstantFill([], "y", shape=[1])
    workspace.RunNetOnce(net)
    net.Relu("absent", "z")
    with pytest.raises(RuntimeError, match="external input absent does not exist"):
        workspace.RunNetOnce(net)


def test_versions_of_blobs():
    net = core.Net("versions")
    net.Relu("x", "y")
    net.Relu("y", "y")
    net.Sum(["x", "y"], "z")
    versions = core.IR(net.Proto().op)
    assert [record.in_versions for record in versions.ssa] == [{"x": 0}, {"y": 1}, {"x": 0, "y": 2}]
    assert versions.ssa[1].out_versions == {"y": 2} and versions.frontier["z"] == 1
    assert versions.input_usages["x"][0] == [0, 2]
    ops, gradients = core.IR(net.Proto().op[:1]).GetBackwardPass(["y"])
    assert gradients["x"] == "x_grad" and ops[-1].type == "ReluGradient"


def test_outputs_of_branches_are_renamed():
    then_net, else_net = core.Net("then"), core.Net("else")
    then_net.Copy("a", "x_grad")
    else_net.Copy("b", "other")
    else_net.Copy("b", "x_grad")
    op = core.CreateOperator("If", ["condition", "a", "b"], ["x_grad", "other"],
                             then_net=then_net.Proto(), else_net=else_net.Proto())
    control_ops_grad.disambiguate_grad_if_op_output(op, 0, "x_grad_autosplit_0")
    assert list(op.output) == ["x_grad_autosplit_0", "other"]
    nets = {argument.name: argument.n for argument in op.arg}
    assert nets["then_net"].op[0].output == ["x_grad_autosplit_0"]
    assert [o.output[0] for o in nets["else_net"].op] == ["other", "x_grad_autosplit_0"]


def test_steps():
    net = core.Net("stepped")
    step = core.execution_step("outer", [core.execution_step("inner", net, num_iter=2)])
    alone = core.ExecutionStep("alone")
    assert alone.AddNet(net) is alone
    assert step.Proto().num_iter == 1 and step.Proto().substep[0].num_iter == 2
    plan = core.Plan(step)
    assert [n.name for n in plan.Proto().network] == [net.Name()]
    with pytest.raises(ValueError, match="part of another"):
        step.SetIter(3)
    with pytest.raises(ValueError, match="both"):
        core.execution_step("x", net, num_iter=1, should_stop_blob=core.BlobReference("b"))


def test_ssa():
    net = core.Net("ssa")
    net.Relu("x", "y")
    net.Relu("y", "y")
    ssa, versions = core.get_ssa(net)
    assert ssa == [([("x", 0)], [("y", 1)]), ([("y", 1)], [("y", 2)])]
    assert versions["y"] == 2
    assert core.get_undefined_blobs(ssa) == {"x"}


def seeded_values(first, **seeding):
    """The values of two operators that differ in their outputs only, after `first` other
    operators."""
    net = core.Net("seeded")
    for i in range(first):
        net.ConstantFill([], f"other_{i}", shape=[1], value=0.0)
    net.GaussianFill([], "a", shape=[4])
    net.GaussianFill([], "b", shape=[4])
    net.set_rand_seed(**seeding)
    workspace.RunNetOnce(net)
    return np.stack(workspace.FetchBlobs(["a", "b"]))


@pytest.mark.parametrize("seeding", [
    {"seed": 5}, {"seed": 5, "sequence_seed": False},
    {"seed": 5, "sequence_seed": False, "seed_on_op_def": True}])
def test_seeds_make_runs_equal(seeding):
    values = seeded_values(0, **seeding)
    np.testing.assert_array_equal(seeded_values(0, **seeding), values)
    alike = seeding == {"seed": 5, "sequence_seed": False}
    assert (values[0] == values[1]).all() == alike
    assert (seeded_values(0, **{**seeding, "seed": 6}) != values).any()
    # Only seeds by number depend on what else the net has.
    moved = (seeded_values(1, **seeding) != values).any()
    assert moved == (seeding == {"seed": 5})


def test_operators_have_seeds_of_their_own():
    net = core.Net("seeded")
    for name in "abc":
        net.GaussianFill([], name, shape=[1])
    net.set_rand_seed(100)
    assert [op.device_option.random_seed for op in net.Proto().op] == [100, 101, 102]
    with pytest.raises(ValueError, match="cannot both be True"):
        net.set_rand_seed(1, sequence_seed=True, seed_on_op_def=True)


def gpu_net():
    """Blob "a" on the host is read by two operators of a GPU, whose result the host reads."""
    gpu = core.DeviceOption(caffe2_pb2.CUDA, 1)
    net = core.Net("across")
    net.AddExternalInput("a")
    net.Relu("a", "b", device_option=gpu)
    net.Sum(["a", "b"], "c", device_option=gpu)
    net.Relu("c", "d")
    net.Relu("d", "d")
    return net, gpu


def test_copies_between_devices():
    net, gpu = gpu_net()
    cpu = core.DeviceOption(caffe2_pb2.CPU)
    assert core.device_equal(core.InferBlobDevices(net)["c"], gpu)
    copied, devices = core.InjectCrossDeviceCopies(net, {"a": cpu})
    assert [(op.type, list(op.input), list(op.output)) for op in copied.Proto().op] == [
        ("CopyCPUToGPU", ["a"], ["a_gpu_1"]), ("Relu", ["a_gpu_1"], ["b"]),
        ("Sum", ["a_gpu_1", "b"], ["c"]), ("CopyGPUToCPU", ["c"], ["c_cpu"]),
        ("Relu", ["c_cpu"], ["d"]), ("Relu", ["d"], ["d"])]
    assert core.device_equal(devices["a_gpu_1"], gpu)
    # An external input of unknown device is where the net is.
    unplaced, devices = core.InjectCrossDeviceCopies(net)
    assert core.device_equal(devices["a"], cpu)
    assert [op.type for op in unplaced.Proto().op] == [op.type for op in copied.Proto().op]
    undefined = core.Net("undefined")
    undefined.Proto().op.add(type="Relu", input=["a"], output=["b"])
    with pytest.raises(ValueError, match="No device information found for blob a"):
        core.InjectCrossDeviceCopies(undefined)
    # A later net takes the copies that there are.
    nets, _ = core.InjectDeviceCopiesAmongNets([net, gpu_net()[0].Clone("second")], {"a": cpu})
    assert nets[1].Proto().op[0].type == "Relu"
    assert "a_gpu_1" in nets[1].Proto().external_input


def test_small_utilities():
    images = np.zeros((2, 3, 4, 5))
    assert utils.NCHW2NHWC(images).shape == (2, 4, 5, 3)
    assert utils.NHWC2NCHW(utils.NCHW2NHWC(images)).shape == images.shape
    op = core.CreateOperator("Relu", "x", "y", order="NCHW", axis=3)
    assert utils.ArgsToDict(op.arg) == {"order": b"NCHW", "axis": 3}
    assert utils.EnumClassKeyVals(core.DataType)["FLOAT"] == 1
    assert utils.GetContentFromProto(op, {caffe2_pb2.OperatorDef: lambda o: o.type}) == "Relu"
    assert utils.GetContentFromProto(op, {}) is None
