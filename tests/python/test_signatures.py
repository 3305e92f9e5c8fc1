"""Names, and the order of their arguments, that scripts for Caffe2 rely on."""

import ctypes
import importlib
import inspect

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import _gpu_info, core, utils, workspace
from caffe2.python import _import_c_extension as C

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
    monkeypatch.setattr(_gpu_info.C, "has_gpu_support", True)
    monkeypatch.setattr(_gpu_info.C, "has_cuda_support", True)
    monkeypatch.setattr(_gpu_info.C, "num_cuda_devices", lambda: 2)
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
