"""Names, and the order of their arguments, that scripts for Caffe2 rely on."""

import ctypes
import importlib
import inspect
import unittest

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import (
    core,
    data_parallel_model,
    gradient_checker,
    schema,
    session,
    test_util,
    timeout_guard,
    utils,
    workspace,
)
from caffe2.python import hypothesis_test_util as hu
from caffe2.python._core import gpu_info
from caffe2.python.model_helper import ModelHelper
from caffe2.python.net_builder import NetBuilder

# (module, name, the leading arguments without self)
SIGNATURES = [
    ("workspace", "BenchmarkNetOnce", "name"),
    ("workspace", "CallWithExceptionIntercept", "func op_id_fetcher net_name"),
    ("workspace", "ClearGlobalNetObserver", ""),
    ("workspace", "CreateOfflineTensor", "name dims datatype"),
    ("workspace", "GetBlobNUMANode", "name"),
    ("workspace", "GetBlobSizeBytes", "name"),
    ("workspace", "GetCUDAVersion", ""),
    ("workspace", "GetDeviceProperties", "deviceid"),
    ("workspace", "GetGPUMemoryInfo", "device_id"),
    ("workspace", "GetGpuPeerAccessPattern", ""),
    ("workspace", "GetHIPVersion", ""),
    ("workspace", "GetNameScope", ""),
    ("workspace", "GetNetName", "net"),
    ("workspace", "ImmediateBlobs", ""),
    ("workspace", "ResetBlob", "name"),
    ("core", "execution_step",
     "default_name steps_or_nets num_iter report_net report_interval concurrent_substeps "
     "should_stop_blob only_once num_concurrent_instances create_workspace run_every_ms"),
    ("core", "ExecutionStep.create_from_proto", "step_proto net_obj_dict net_proto_dict"),
    ("core", "ExecutionStep.get_net", "name"),
    ("net_builder", "NetBuilder.merge_nets", "nets_or_builders outer_blob_names"),
    ("net_builder", "Operations.Condition", "name"),
    ("net_builder", "Operations.local_exit", "name"),
    ("net_builder", "Operations.local_reporter", "interval_ms name"),
    ("net_builder", "Operations.task_group", ""),
    ("core", "control_op_remap", "op prefix blob_remap"),
    ("core", "get_net_name", "netlike"),
    ("core", "GetIndexFromGradientList", "g_list name"),
    ("core", "GradGenMeta", "grad_op idx gradient device_option"),
    ("core", "InferOpBlobDevicesAsDict", "op"),
    ("core", "InferOpDeviceAsBlobDevices", "op"),
    ("core", "Net.current_prefix", ""),
    ("core", "Net.extend_ops", "new_ops"),
    ("core", "Net.is_external_input", "blob"),
    ("core", "Net.recover_input_record_by_prefix", "prefix"),
    ("core", "Net.recover_output_record_by_prefix", "prefix"),
    ("core", "OpSSA", "op in_versions out_versions"),
    ("core", "output_to_list", "op_output"),
    ("core", "recurrent_network_op_remap", "op prefix blob_remap"),
    ("core", "SparseGradGenMeta",
     "grad_op_indices idx_indices grad_op_values idx_values gradient device_option"),
    ("core", "update_placeholder_op_output", "op blob_to_device"),
    ("data_parallel_model", "CollectivesConcurrencyControl",
     "name max_concurrent_context param_init_net rendezvous"),
    ("data_parallel_model", "CreateNet", "model overwrite"),
    ("data_parallel_model", "FinalizeAfterCheckpoint", "model blobs cpu_mode"),
    ("data_parallel_model", "Parallelize",
     "model_helper_obj input_builder_fun forward_pass_builder_fun param_update_builder_fun "
     "optimizer_builder_fun post_sync_builder_fun pre_grad_net_transformer_fun "
     "net_transformer_fun devices rendezvous net_type broadcast_computed_params "
     "optimize_gradient_memory dynamic_memory_management blobs_to_keep use_nccl "
     "max_concurrent_distributed_ops cpu_device ideep num_threads_per_device shared_model "
     "combine_spatial_bn barrier_net_timeout_sec"),
    ("data_parallel_model", "Parallelize_BMUF",
     "model_helper_obj input_builder_fun forward_pass_builder_fun param_update_builder_fun "
     "block_learning_rate block_momentum devices rendezvous net_type master_device use_nccl "
     "nesterov optimize_gradient_memory reset_momentum_sgd warmup_iterations "
     "max_concurrent_distributed_ops add_blobs_to_sync num_threads_per_device cpu_device "
     "barrier_net_timeout_sec"),
    ("data_parallel_model", "Synchronize", "model timeout_sec"),
    ("gradient_checker", "getGradientForOp", "op"),
    ("gradient_checker", "GradientChecker.CheckSimple",
     "op inputs input_to_check outputs_with_grads grad_ops input_device_options"),
    ("hypothesis_test_util", "device_checker_device_options", ""),
    ("hypothesis_test_util", "gradient_checker_device_option", ""),
    ("hypothesis_test_util", "runOpOnInput", "device_option op inputs input_device_options"),
    ("hypothesis_test_util", "to_float32", "x"),
    ("schema", "Field.slice", ""),
    ("session", "Session.fetch_output", "output"),
    ("test_util", "caffe2_flaky", "test_method"),
    ("test_util", "get_default_test_flags", ""),
    ("test_util", "is_flaky_test_mode", ""),
    ("test_util", "str_compare", "a b encoding"),
    ("timeout_guard", "WatcherThread", "timeout_secs"),
    ("utils", "GetContentFromProtoString", "s function_map"),
    ("utils", "GetGPUMemoryUsageStats", ""),
]


@pytest.mark.parametrize("module, name, arguments", SIGNATURES, ids=lambda x: x.split(" ")[0])
def test_arguments_are_in_the_order_of_caffe2(module, name, arguments):
    function = importlib.import_module(f"caffe2.python.{module}")
    for part in name.split("."):
        function = getattr(function, part)
    ours = [argument for argument in inspect.signature(function).parameters if argument != "self"]
    assert ours[:len(arguments.split())] == arguments.split()


def test_blobs_are_emptied_and_measured():
    workspace.FeedBlob("x", np.zeros((2, 3), np.int64))
    workspace.FeedBlob("words", np.array([b"ab", b"c"], object))
    workspace.FeedBlob("text", "abc")
    assert workspace.GetBlobSizeBytes("x") == 48
    assert workspace.GetBlobSizeBytes("words") == 2 * 32 + 3
    assert workspace.GetBlobSizeBytes("text") == 0
    assert workspace.GetBlobNUMANode("x") == -1
    workspace.ResetBlob("x")
    assert workspace.HasBlob("x") and workspace.GetBlobSizeBytes("x") == 0
    for function in (workspace.ResetBlob, workspace.GetBlobSizeBytes, workspace.GetBlobNUMANode):
        with pytest.raises(RuntimeError, match="did you mean words"):
            function("word")


def test_offline_tensors_have_a_shape_and_a_type():
    assert workspace.CreateOfflineTensor("x", [2, 5], core.DataType.INT32)
    net = core.Net("reader")
    net.Copy("x", "y")
    shapes, types = workspace.InferShapesAndTypes([net])
    assert shapes["y"] == [2, 5] and types["y"] == core.DataType.INT32
    with pytest.raises(ValueError, match="DataType"):
        workspace.CreateOfflineTensor("x", [2], core.DataType.STRING)


def test_one_run_is_timed():
    net = core.Net("once")
    workspace.FeedBlob("count", np.zeros(1, np.int64))
    net.Add(["count", net.Const(np.ones(1, np.int64))], ["count"])
    workspace.CreateNet(net)
    assert workspace.BenchmarkNetOnce(net.Name()) > 0
    assert workspace.FetchBlob("count") == [1]


def test_names_of_nets_and_scopes():
    net = core.Net("named")
    assert workspace.GetNetName(net=net) == net.Name() == workspace.GetNetName(net.Proto())
    assert workspace.GetNameScope() == ""
    with core.NameScope("outer"):
        assert workspace.GetNameScope() == "outer/"


def test_immediate_blobs():
    workspace.StartImmediate()
    try:
        core.Net("immediate").Const(1.0, blob_out="at_once")
        assert workspace.ImmediateBlobs() == ["at_once"] and not workspace.HasBlob("at_once")
    finally:
        workspace.StopImmediate()


def test_intercepted_calls_log_the_creation_line(caplog):
    net = core.Net("intercepted")
    net.Const(1.0)
    assert workspace.operator_tracebacks[net.Name()][0][0][0] == __file__
    assert workspace.operator_tracebacks["a net that is not there"] == {}
    call = workspace.CallWithExceptionIntercept
    assert call(divmod, lambda: 0, net.Name(), 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        call(divmod, lambda: 0, net.Name(), 7, 0)
    assert f"Operator 0 of net {net.Name()}" in caplog.text and __file__ in caplog.text


@pytest.mark.skipif(C.has_gpu_support, reason="these are the answers without a GPU")
def test_without_gpus():
    assert not workspace.has_cuda_support and not workspace.has_hip_support
    assert workspace.GetCUDAVersion() == 0 and workspace.GetHIPVersion() == 0
    assert workspace.GetDeviceProperties(0) is None and workspace.GetGPUMemoryInfo() is None
    assert workspace.GetGpuPeerAccessPattern().shape == (0,)


class _Driver:
    """A CUDA driver of two devices, of which only the second reads the other's memory."""

    def __getattr__(self, name):
        return lambda *args: 0

    def cuDeviceGet(self, device, number):
        device._obj.value = number
        return 0 if number < 2 else 101

    def cuDeviceGetName(self, name, size, device):
        name.value = b"device %d" % device.value
        return 0

    def cuDeviceTotalMem_v2(self, total, device):
        total._obj.value = 1 << 34
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = {75: 9, 76: 0}[attribute]
        return 0

    def cuMemGetInfo_v2(self, free, total):
        free._obj.value, total._obj.value = 1 << 33, 1 << 34
        return 0

    def cuDriverGetVersion(self, version):
        version._obj.value = 12040
        return 0

    def cuDeviceCanAccessPeer(self, access, reader, owner):
        access._obj.value = int((reader.value, owner.value) == (1, 0))
        return 0


def test_what_the_driver_tells(monkeypatch):
    monkeypatch.setattr(gpu_info.C, "has_gpu_support", True)
    monkeypatch.setattr(gpu_info.C, "has_cuda_support", True)
    monkeypatch.setattr(gpu_info.C, "num_cuda_devices", lambda: 2)
    monkeypatch.setattr(ctypes, "CDLL", lambda name: _Driver())
    assert workspace.GetCUDAVersion() == 12040
    assert workspace.GetDeviceProperties(1) == {
        "name": "device 1", "major": 9, "minor": 0, "totalGlobalMem": 1 << 34}
    assert workspace.GetGPUMemoryInfo(0) == (1 << 33, 1 << 34)
    np.testing.assert_array_equal(
        workspace.GetGpuPeerAccessPattern(), [[True, False], [True, True]])
    with pytest.raises(RuntimeError, match="cuDeviceGet failed with error 101"):
        workspace.GetDeviceProperties(2)


def test_messages_are_read_as_the_first_type_that_fits():
    op = core.CreateOperator("Relu", "x", "y")
    readers = {caffe2_pb2.NetDef: lambda net: net.name, caffe2_pb2.OperatorDef: lambda o: o.type}
    assert utils.GetContentFromProtoString(str(op), readers) == "Relu"
    with pytest.raises(utils.DecodeError, match="NetDef, OperatorDef"):
        utils.GetContentFromProtoString(b"\xff\xff", readers)


def test_gpu_memory_is_not_tracked():
    with pytest.raises(RuntimeError, match="GetGPUMemoryInfo"):
        utils.GetGPUMemoryUsageStats()


CPU, GPU = core.DeviceOption(caffe2_pb2.CPU), core.DeviceOption(caffe2_pb2.CUDA, 1)


def test_devices_of_blobs():
    op = core.CreateOperator("CopyCPUToGPU", "x", "y", device_option=GPU)
    inputs, outputs = core.InferOpBlobDevicesAsDict(op)
    assert inputs["x"].device_type == caffe2_pb2.CPU and outputs == {"y": GPU}
    assert core.InferOpDeviceAsBlobDevices(op) == ([GPU], [GPU])
    received = core.CreateOperator("Recv", [], ["x", "y", "new"])
    core.update_placeholder_op_output(received, {"x": CPU, "y": GPU})
    assert list(received.output) == ["x", "y_cpu", "new"]


def test_gradients_are_found_by_any_of_their_blobs():
    gradients = ["a", None, core.GradientSlice("indices", "values"), core.BlobReference("b")]
    found = [core.GetIndexFromGradientList(gradients, name)
             for name in ("a", "indices", "values", "b", "c")]
    assert found == [0, 2, 2, 3, None]
    op = core.CreateOperator("Relu", "x", "y")
    (gradient,), g_input = gradient_checker.getGradientForOp(op)
    assert gradient.type == "ReluGradient" and "y_grad" in gradient.input and g_input == ["x_grad"]


def test_names_and_lists():
    net = core.Net("named_again")
    assert [core.get_net_name(x) for x in (net, net.Proto(), "name")] == [net.Name()] * 2 + ["name"]
    a, b = core.BlobReference("a"), core.BlobReference("b")
    assert core.output_to_list(a) == [a] and core.output_to_list((a, b)) == [a, b]
    with pytest.raises(TypeError, match="BlobReference"):
        core.output_to_list("a")
    assert core.Net.current_prefix() == ""
    with NetBuilder("outer"), NetBuilder("inner"):
        assert core.Net.current_prefix() == "outer/inner"


def test_clones_rename_by_functions_of_operator_types():
    body = core.Net("body")
    body.Relu("x", "y")
    net = core.Net("with_body")
    net._ExtendOps([core.CreateOperator("If", ["c", "x"], ["y"], then_net=body.Proto())])
    clone = net.Clone("clone", {"x": "z"})
    (argument,) = clone.Proto().op[0].arg
    assert argument.n.op[0].input == ["z"]
    seen = []
    net.Clone("other", {"x": "z"}, remap_funcs={
        "If": lambda op, prefix, remap: seen.append((list(op.input), prefix, remap))})
    assert seen == [(["c", "z"], "other/", {"x": "z"})]
    assert set(core.DEFAULT_REMAP_FUNCS) == {
        "If", "AsyncIf", "While", "RecurrentNetwork", "RecurrentNetworkGradient"}
    op = core.CreateOperator("RecurrentNetwork", [], [], link_external=["x", "other"])
    core.recurrent_network_op_remap(op, "", {"x": "z"})
    assert list(op.arg[0].strings) == [b"z", b"other"]


def test_records_from_names_of_external_blobs():
    net = core.Net("recovered")
    net.AddExternalInput("in/a:b", "in/c", "weight")
    net.AddExternalOutput(net.Copy("in/c", "out/d"))
    net.recover_input_record_by_prefix("in/")
    net.recover_output_record_by_prefix("out/")
    assert net.input_record().field_names() == ["a:b", "c"]
    assert net.input_record().field_blobs() == ["in/a:b", "in/c"]
    assert net.output_record().field_blobs() == ["out/d"]
    net = core.Net("without_records")
    net.recover_input_record_by_prefix("in/")
    assert net.input_record() is None


def test_operators_appended_as_they_are():
    net = core.Net("extended")
    net.AddExternalInput("x")
    net.extend_ops([core.CreateOperator("Relu", "x", "y")])
    assert net.BlobIsDefined("y") and net.is_external_input("x") and not net.is_external_input("y")


@pytest.mark.parametrize("place", [core.Net.RunAllOnMKL, core.Net.RunAllOnIDEEP])
def test_there_are_no_devices_of_mkl(place):
    net = core.Net("mkl")
    net.Const(1.0)
    place(net)
    with pytest.raises(RuntimeError, match="it exists for: cpu"):
        workspace.CreateNet(net)


def test_columns_of_a_field():
    record = schema.Struct(
        ("a", schema.Scalar()),
        ("b", schema.Struct(("b1", schema.Scalar()), ("b2", schema.Scalar()))),
        ("c", schema.Scalar()))
    columns = ["a", "b1", "b2", "c"]
    assert columns[record.b.slice()] == ["b1", "b2"] and columns[record.c.slice()] == ["c"]
    assert columns[record.slice()] == columns


def test_sessions_fetch_outputs():
    workspace.FeedBlob("x", np.float32([3]))
    assert session.LocalSession().fetch_output(core.BlobReference("x")) == [3]
    with pytest.raises(NotImplementedError, match="Session does not fetch"):
        session.Session().fetch_output("x")


def _tests_that_run(flaky_mode, monkeypatch):
    monkeypatch.setenv("CAFFE2_RUN_FLAKY_TESTS", flaky_mode)
    ran = []

    class Tests(test_util.TestCase):
        @test_util.caffe2_flaky
        def test_flaky(self):
            ran.append("flaky")

        def test_steady(self):
            ran.append("steady")

    unittest.defaultTestLoader.loadTestsFromTestCase(Tests).run(unittest.TestResult())
    return ran


def test_flaky_tests_run_alone(monkeypatch):
    assert _tests_that_run("0", monkeypatch) == ["steady"]
    assert _tests_that_run("1", monkeypatch) == ["flaky"]


def test_texts_compare():
    assert test_util.str_compare("ä", "ä".encode()) and not test_util.str_compare(b"a", "b")


def test_watchers_end_the_process_unless_told_in_time(monkeypatch):
    ended = []
    monkeypatch.setattr(timeout_guard, "_end_process", ended.append)
    late = timeout_guard.WatcherThread(0.0)
    late.start()
    late.join()
    assert ended == [0.0]
    in_time = timeout_guard.WatcherThread(600)
    in_time.start()
    with in_time.condition:
        in_time.completed = True
        in_time.condition.notify()
    in_time.join()
    assert ended == [0.0]


def test_one_run_of_an_operator():
    op = core.CreateOperator("Add", ["x", "y"], ["z"])
    x = np.float32([1, 2])
    (z,) = hu.runOpOnInput(hu.cpu_do, op, [x, x])
    np.testing.assert_array_equal(z, [2, 4])
    with pytest.raises(ValueError, match="needs 2 input values, found 1"):
        hu.runOpOnInput(hu.cpu_do, op, [x])
    assert hu.to_float32(0.1) == float(np.float32(0.1)) != 0.1


def test_the_checked_input_can_be_named():
    checker = gradient_checker.GradientChecker(0.05, 0.005, hu.cpu_do)
    op = core.CreateOperator("Mul", ["x", "y"], ["z"])
    x, y = np.float32([1, 2]), np.float32([3, 4])
    good, gradient, _ = checker.CheckSimple(
        op, inputs=[x, y], input_to_check=1, outputs_with_grads=[0])
    assert good
    np.testing.assert_allclose(gradient, x * x * y)  # of 0.5 * (x * y)^2


def test_collectives_take_common_worlds_in_turn():
    init_net = core.Net("worlds")
    init_net.AddExternalInput("store")
    control = data_parallel_model.CollectivesConcurrencyControl(
        "sum", 2, init_net, {"num_shards": 2, "shard_id": 0, "kv_handler": "store"})
    turns = [control.get_control_and_context(blob) for blob in "abcd"]
    assert turns == [("sum_0_cw", None), ("sum_1_cw", None), ("sum_0_cw", "a"), ("sum_1_cw", "b")]
    assert [op.type for op in init_net.Proto().op] == ["CreateCommonWorld"] * 2


def test_models_for_ideep_train_on_the_cpu():
    model = ModelHelper("ideep")

    def add_forward(model, loss_scale):
        model.net.Relu(model.net.Const(np.float32([-1, 2])), "y")
        return []

    data_parallel_model.Parallelize_iDeep(model, lambda model: None, add_forward, devices=[0])
    workspace.RunNetOnce(model.param_init_net)
    data_parallel_model.CreateNet(model)
    with pytest.raises(RuntimeError):
        data_parallel_model.CreateNet(model)
    data_parallel_model.CreateNet(model, overwrite=True)
    data_parallel_model.RunNet(model, 1)
    np.testing.assert_array_equal(workspace.FetchBlob("cpu_0/y"), [0, 2])
