"""Workspaces: feed and fetch blobs, create and run nets.

All functions work on the current workspace (SwitchWorkspace). Errors of the C++ library are
RuntimeErrors. If an operator of a net failed, the message ends with the Python line that created
it. An exception of a Python operator is passed on as it is.
"""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import predictor_class, scope
from caffe2.python._core import blobs as _blobs
from caffe2.python._core import errors as _errors
from caffe2.python._core import feeding, library, tensors
from caffe2.python._core import gpu_info as _gpu_info
from caffe2.python._core.blob_memory import BlobMemory as BlobMemory
from caffe2.python._core.blob_memory import MemoryReport as MemoryReport
from caffe2.python._core.blob_memory import WorkspaceMemory as WorkspaceMemory
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.errors import call_explained
from caffe2.python._core.messages import (
    ProtoLike,
    StringifyBlobName,
    StringifyNetName,
    StringifyProto,
)
from caffe2.python._core.net import Net, operator_observers
from caffe2.python._core.operator_types import TriggerLazyImport
from caffe2.python._core.plan import ExecutionStep, Plan
from caffe2.python._core.random_inputs import random_inputs

# The name of a net, as str, Net or NetDef.
NetNameLike = Union[str, bytes, Net, caffe2_pb2.NetDef]

log = logging.getLogger(__name__)

CallWithExceptionIntercept = _errors.CallWithExceptionIntercept
CreateOfflineTensor = _blobs.CreateOfflineTensor
FeedBlob = _blobs.FeedBlob
FetchBlob = _blobs.FetchBlob
FetchBlobs = _blobs.FetchBlobs
FetchInt8Blob = _blobs.FetchInt8Blob
FetchInt8BlobRealVal = _blobs.FetchInt8BlobRealVal
GetBlobNUMANode = _blobs.GetBlobNUMANode
GetBlobSizeBytes = _blobs.GetBlobSizeBytes
HasBlob = _blobs.HasBlob
Int8Tensor = feeding.Int8Tensor
RemoveBlob = _blobs.RemoveBlob
ResetBlob = _blobs.ResetBlob
SerializeBlob = _blobs.SerializeBlob
blobs = _blobs.blobs
Blobs = C.blobs
GlobalInit = library.GlobalInit
Predictor = predictor_class.Predictor
CreateBlob = C.create_blob
CurrentWorkspace = C.current_workspace
DeserializeBlob = C.deserialize_blob
RegisteredOperators = C.registered_operators
RootFolder = C.root_folder
SwitchWorkspace = C.switch_workspace
Workspace = C.Workspace
Workspaces = C.workspaces
NumCudaDevices = C.num_cuda_devices
NumGpuDevices = C.num_cuda_devices
GetCUDAVersion = _gpu_info.GetCUDAVersion
GetDeviceProperties = _gpu_info.GetDeviceProperties
GetGPUMemoryInfo = _gpu_info.GetGPUMemoryInfo
GetGpuPeerAccessPattern = _gpu_info.GetGpuPeerAccessPattern
GetHIPVersion = _gpu_info.GetHIPVersion
Nets = C.nets
has_gpu_support = C.has_gpu_support
has_cuda_support = C.has_cuda_support
has_hip_support = C.has_hip_support
has_fbgemm = False
is_asan = C.is_asan

_errors.created_nets = C.nets

# The device type of GPUs in this build.
GpuDeviceType = caffe2_pb2.CUDA

bfloat16 = tensors.bfloat16

operator_tracebacks = _errors.operator_tracebacks


def IsNUMAEnabled() -> bool:
    """False: memory is not placed by NUMA node."""
    return False


def GetCuDNNVersion() -> int:
    """0: the version of cuDNN is not known here."""
    return 0


def GetNumNUMANodes() -> int:
    """-1: memory is not placed by NUMA node."""
    return -1


def GetNetName(net: NetNameLike) -> str:
    """The name of a net that is given as a str, Net or NetDef; the same as StringifyNetName."""
    return StringifyNetName(net)


def GetNameScope() -> str:
    """The current name scope, with its last "/"; "" if there is none."""
    return scope.CurrentNameScope()


def ClearGlobalNetObserver() -> None:
    """Does nothing: observers belong to single nets (Net.AddObserver)."""


def ResetWorkspace(root_folder: str | None = None) -> bool:
    """Removes all blobs and nets of the current workspace.

    `root_folder`: the folder of relative names in Load and Save; made if there is none.

    Nets that run in the workspace in other threads are stopped first. Raises RuntimeError if one of
    them does not stop within 5 s, or if this is called by an operator of such a net.
    """
    if root_folder is None:
        return C.reset_workspace("")
    os.makedirs(root_folder, exist_ok=True)
    return C.reset_workspace(root_folder)


@contextlib.contextmanager
def WorkspaceGuard(workspace_name: str) -> Iterator[None]:
    """Within the block, the workspace of this name, made if there is none, is the current one."""
    current = CurrentWorkspace()
    SwitchWorkspace(workspace_name, True)
    try:
        yield
    finally:
        SwitchWorkspace(current)


# -- Running -------------------------------------------------------------------------------------


def RunOperatorOnce(operator: ProtoLike) -> bool:
    """Makes an operator from an OperatorDef and runs it."""
    TriggerLazyImport()
    return call_explained(C.run_operator_once, StringifyProto(operator, caffe2_pb2.OperatorDef))


# Numbers the nets of RunOperatorMultiple, which several threads may call.
_operator_nets = itertools.count()


def RunOperatorMultiple(operator: ProtoLike, num_runs: int) -> bool:
    """Makes one operator from an OperatorDef, or its bytes, and runs it num_runs times.

    Unlike repeated RunOperatorOnce, this keeps the operator's state from run to run.
    """
    definition = caffe2_pb2.OperatorDef.FromString(
        StringifyProto(operator, caffe2_pb2.OperatorDef))
    name = f"RunOperatorMultiple_{next(_operator_nets)}"
    net = caffe2_pb2.NetDef(name=name, op=[definition])
    CreateNet(net)
    try:
        return all(RunNet(net.name) for _ in range(num_runs))
    finally:
        DeleteNet(net.name)


def RunOperatorsOnce(operators: Iterable[ProtoLike]) -> bool:
    """Runs each with RunOperatorOnce; returns False at the first that reports failure."""
    for operator in operators:
        if not RunOperatorOnce(operator):
            return False
    return True


def RunNetOnce(net: ProtoLike) -> bool:
    """Makes a net, runs it and removes it. Its blobs stay."""
    TriggerLazyImport()
    return call_explained(C.run_net_once, StringifyProto(net, caffe2_pb2.NetDef))


def CreateNet(net: ProtoLike, overwrite: bool = False,
              input_blobs: Iterable[BlobLike] | None = None) -> bool:
    """Creates a net in the current workspace, for RunNet.

    Args:
      net: a Net or NetDef.
      overwrite: replaces a net of this name; otherwise there must be none.
      input_blobs: blobs to make first, empty, if there are none.
    """
    TriggerLazyImport()
    for blob in input_blobs or ():
        C.create_blob(StringifyBlobName(blob))
    return call_explained(C.create_net, StringifyProto(net, caffe2_pb2.NetDef), overwrite)


def DeleteNet(name: NetNameLike) -> bool:
    """Removes a created net, by its name or a Net; its blobs stay."""
    return C.delete_net(StringifyNetName(name))


def RunNet(name: NetNameLike, num_iter: int = 1, allow_fail: bool = False) -> bool:
    """Runs a created net.

    Args:
      name: the net's name, or a Net.
      num_iter: the number of runs.
      allow_fail: returns False, instead of raising, if an operator reports failure.

    Raises ValueError for another num_iter than an integer from 0 on, RuntimeError if the net does
    not exist or an operator fails, the exception of a Python operator if that fails, and
    KeyboardInterrupt before the next operator after Ctrl-C.
    """
    name = name if isinstance(name, str) else StringifyNetName(name)
    if not isinstance(num_iter, (int, np.integer)) or num_iter < 0:
        raise ValueError(f"RunNet: num_iter is {num_iter!r}, must be an integer from 0 on")
    return call_explained(C.run_net, name, num_iter, allow_fail)


def RunPlan(plan_or_step: Plan | ExecutionStep | ProtoLike) -> bool:
    """Makes the nets of a Plan (or PlanDef, or a step) and runs its steps."""
    TriggerLazyImport()
    if isinstance(plan_or_step, ExecutionStep):
        plan_or_step = Plan(plan_or_step)
    return call_explained(C.run_plan, StringifyProto(plan_or_step, caffe2_pb2.PlanDef))


class BackgroundPlan:
    """A plan that runs in its own thread; see RunPlanInBackground."""

    def __init__(self, plan_bytes: bytes) -> None:
        ws = C.Workspace.current  # even if another one becomes current
        self._error = None
        self._thread = threading.Thread(target=self._run, args=(ws, plan_bytes))
        self._thread.start()

    def _run(self, ws, plan_bytes):
        try:
            call_explained(ws._run_plan, plan_bytes)
        except Exception as error:  # for is_succeeded
            self._error = error
            log.error("A plan in the background failed: %s", error)

    def is_done(self) -> bool:
        """True if the plan has ended, well or not."""
        return not self._thread.is_alive()

    def is_succeeded(self) -> bool:
        """True if the plan ended well. Raises RuntimeError if it is not done."""
        if not self.is_done():
            raise RuntimeError("the plan is not done yet")
        return self._error is None


def RunPlanInBackground(plan_or_step: Plan | ExecutionStep | ProtoLike) -> BackgroundPlan:
    """Starts RunPlan in a thread, in the workspace that is current now; returns a BackgroundPlan at
    once. A failure is logged."""
    if isinstance(plan_or_step, ExecutionStep):
        plan_or_step = Plan(plan_or_step)
    return BackgroundPlan(StringifyProto(plan_or_step, caffe2_pb2.PlanDef))


def GetOperatorCost(operator: ProtoLike, blobs: Iterable[BlobLike]) -> tuple[float, float]:
    """(floating-point operations, bytes written) of one run of an operator, from the shapes of
    `blobs`, its inputs in the workspace. A multiply-add counts 2.

    Raises RuntimeError if a blob is missing, or the operator cannot take their shapes.
    """
    return C.get_operator_cost(
        StringifyProto(operator), [StringifyBlobName(blob) for blob in blobs])


def GetStats() -> dict[str, int]:
    """{name: sum, an int} of the global registry of statistics (StatRegistryUpdate)."""
    ws = C.Workspace()
    operator = caffe2_pb2.OperatorDef(
        type="StatRegistryExport", output=["keys", "values", "timestamps"])
    operator.arg.add(name="reset", i=0)
    ws._run_operator(operator.SerializeToString())
    return {key.decode() if isinstance(key, bytes) else key: int(value)
            for key, value in zip(ws.fetch_blob("keys"), ws.fetch_blob("values"))}


def BenchmarkNet(name: NetNameLike, warmup_runs: int, main_runs: int,
                 run_individual: bool) -> list[float]:
    """The mean milliseconds of a run of the net; with `run_individual` followed by the mean
    milliseconds of each operator."""
    return call_explained(
        C.benchmark_net, StringifyNetName(name), warmup_runs, main_runs, run_individual)


def BenchmarkNetOnce(name: NetNameLike) -> float:
    """Milliseconds that one run of a created net takes."""
    return BenchmarkNet(name, 0, 1, False)[0]


def InferShapesAndTypes(nets: ProtoLike | Sequence[ProtoLike],
                        blob_dimensions: Mapping[Any, Sequence[int]] | None = None,
                        nets_proto: bool = False,
                        blob_types: Mapping[Any, int] | None = None
                        ) -> tuple[dict[str, list[int]], dict[str, int]]:
    """Shapes and types of the blobs of nets, without running them.

    Args:
      nets: Nets, ModelHelpers or NetDefs, in the order they run.
      blob_dimensions: {blob: shape}; default: the shapes of the blobs in the workspace.
      blob_types: {blob: DataType} for blob_dimensions; default float.

    Returns ({blob: list of dimensions}, {blob: DataType}) of the blobs that could be inferred.
    """
    listed: Iterable[Any] = nets if isinstance(nets, (list, tuple)) else [nets]
    serialized = [StringifyProto(net, caffe2_pb2.NetDef) for net in listed]
    if blob_dimensions is None:
        result = C.infer_shapes_and_types_from_workspace(serialized)
    else:
        result = C.infer_shapes_and_types_from_map(
            serialized,
            {StringifyBlobName(blob): [int(d) for d in dims]
             for blob, dims in blob_dimensions.items()},
            {StringifyBlobName(blob): kind for blob, kind in (blob_types or {}).items()})
    shapes, types = {}, {}
    for shape in caffe2_pb2.TensorShapes.FromString(result).shapes:
        if not shape.unknown_shape:
            shapes[shape.name] = list(shape.dims)
            types[shape.name] = shape.data_type
    return shapes, types


def FillRandomNetworkInputs(net: ProtoLike, input_dims: Sequence[Sequence[Sequence[int]]],
                            input_types: Sequence[Sequence[str]]) -> None:
    """Feeds random numbers between 0 and 1 (integers: 0 or 1) into the blobs that a net reads
    before it writes them, so that its speed can be measured.

    Args:
      net: a Net or NetDef.
      input_dims: for each operator the list of the shapes of its inputs.
      input_types: for each operator the list of the element types of its inputs: "float", "int",
        "int64_t", ...

    Raises RuntimeError if these lists do not fit the net.
    """
    operators = caffe2_pb2.NetDef.FromString(StringifyProto(net)).op
    for blob, values in random_inputs(operators, input_dims, input_types):
        FeedBlob(blob, values)


def ApplyTransform(transform_key: str, net: ProtoLike) -> caffe2_pb2.NetDef:
    """The NetDef that a transform makes from a net (or NetDef).

    Args:
      transform_key: CommonSubexpressionElimination, FuseOperators or RemoveIdentities.

    Raises RuntimeError, which lists the known names, for an unknown name.
    """
    return caffe2_pb2.NetDef.FromString(C.apply_transform(transform_key, StringifyProto(net)))


def ApplyTransformIfFaster(transform_key: str, net: ProtoLike, init_net: ProtoLike,
                           warmup_runs: int = 5, main_runs: int = 10,
                           improvement_threshold: float = 1.01) -> caffe2_pb2.NetDef:
    """The transformed NetDef if it is faster by at least `improvement_threshold`, else the
    unchanged NetDef.

    `init_net` makes the blobs that the net reads. Both run in a workspace of their own.
    """
    original = caffe2_pb2.NetDef.FromString(StringifyProto(net))
    transformed = ApplyTransform(transform_key, net)
    times = []
    with WorkspaceGuard("_CAFFE2_TRANSFORM"):
        for candidate in (original, transformed):
            ResetWorkspace()
            RunNetOnce(init_net)
            CreateNet(candidate, overwrite=True)
            times.append(BenchmarkNet(candidate.name, warmup_runs, main_runs, False)[0])
        ResetWorkspace()
    return transformed if times[0] > times[1] * improvement_threshold else original


# -- Immediate mode ------------------------------------------------------------------------------

_immediate_workspace_name = "_CAFFE2_IMMEDIATE"
_immediate_root_folder: str | None = None


def IsImmediate() -> bool:
    """True between StartImmediate and StopImmediate."""
    return _immediate_root_folder is not None


@contextlib.contextmanager
def _immediate_guard():
    with WorkspaceGuard(_immediate_workspace_name):
        yield


def StartImmediate(i_know: bool = False) -> None:
    """From now on every operator that is added to a net also runs at once, in a separate workspace,
    and FetchImmediate shows its result. Slow; for interactive use."""
    global _immediate_root_folder
    if IsImmediate():
        return
    _immediate_root_folder = tempfile.mkdtemp()
    with _immediate_guard():
        ResetWorkspace(_immediate_root_folder)
    operator_observers.append(RunOperatorImmediate)


def StopImmediate() -> None:
    """Ends immediate mode and forgets its workspace."""
    global _immediate_root_folder
    if _immediate_root_folder is None:
        return
    operator_observers.remove(RunOperatorImmediate)
    with _immediate_guard():
        ResetWorkspace()
    shutil.rmtree(_immediate_root_folder, ignore_errors=True)
    _immediate_root_folder = None


def ImmediateBlobs() -> list[str]:
    """The names of the blobs in the workspace of immediate mode."""
    with _immediate_guard():
        return Blobs()


def RunOperatorImmediate(op: ProtoLike) -> None:
    """Runs an OperatorDef in the workspace of immediate mode."""
    with _immediate_guard():
        RunOperatorOnce(op)


def FetchImmediate(*args: Any, **kwargs: Any) -> Any:
    """FetchBlob from the workspace of immediate mode."""
    with _immediate_guard():
        return FetchBlob(*args, **kwargs)


def FeedImmediate(*args: Any, **kwargs: Any) -> bool:
    """FeedBlob into the workspace of immediate mode."""
    with _immediate_guard():
        return FeedBlob(*args, **kwargs)
