"""Synchronous data-parallel training over the devices of several processes ("shards").

``Parallelize`` lets the caller's functions build one replica of the model on each device, under the
name scopes "gpu_0/", "gpu_1/", ... or "cpu_0/", ..., and adds the operators that connect them: the
sum of the gradients over all devices and shards, which starts for each bucket of gradients as soon
as the backward pass has computed it, and the broadcast of the initial parameters from the first
device of shard 0.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import _data_parallel_progress as progress
from caffe2.python import _data_parallel_sync as sync
from caffe2.python import _import_c_extension as C
from caffe2.python import core, model_helper, scope, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._data_parallel_batch_norm import combine_spatial_bn as _combine_spatial_bn
from caffe2.python._data_parallel_build import (
    OptimizeGradientMemory,
    add_gradients,
    build_replicas,
    free_blobs_when_used,
    set_up,
)
from caffe2.python._data_parallel_launch import RendezvousFromEnvironment
from caffe2.python._data_parallel_passes import (
    check_passes,
    place_training,
    prepare_forward,
    prepare_training,
)
from caffe2.python._data_parallel_replicas import (
    blobs_of_init_net,
    check_devices_of_operators,
    device_scope_name,
    for_each_device,
    group_by_device,
    keep_params_of_first_device,
    share_params_of_first_device,
    stripBlobName,
    validate_params,
)
from caffe2.python._data_parallel_sync import (
    _DEFAULT_BARRIER_NET_TIMEOUT_SEC,
    AddBlobSync,
    CollectivesConcurrencyControl,
    _CreateOrCloneCommonWorld,
)
from caffe2.python.data_parallel_bmuf import (
    Parallelize_BMUF,
    Parallelize_CPU_BMUF,
    Parallelize_GPU_BMUF,
)
from caffe2.python.model_helper import ModelHelper
from caffe2.python.optimizer import Optimizer

__all__ = [
    "AddBlobSync",
    "AddDistributedBlobSync",
    "ChooseTrainingPasses",
    "CollectivesConcurrencyControl",
    "ConvertNetForDevice",
    "CreateNet",
    "ExtractPredictorNet",
    "FinalizeAfterCheckpoint",
    "GetCheckpointParams",
    "GetLearningRateBlobNames",
    "OptimizeGradientMemory",
    "Parallelize",
    "Parallelize_BMUF",
    "Parallelize_CPU",
    "Parallelize_CPU_BMUF",
    "Parallelize_GPU",
    "Parallelize_GPU_BMUF",
    "Parallelize_iDeep",
    "RendezvousFromEnvironment",
    "RunInitNet",
    "RunNet",
    "RunWarmup",
    "Synchronize",
    "TrainingPasses",
    "stripBlobName",
    "_CreateOrCloneCommonWorld",
    "_DEFAULT_BARRIER_NET_TIMEOUT_SEC",
]

log = logging.getLogger("data_parallel_model")

TrainingPasses = C.TrainingPasses


def Parallelize_GPU(*args: Any, **kwargs: Any) -> None:
    """Parallelize on CUDA devices."""
    kwargs["cpu_device"] = False
    Parallelize(*args, **kwargs)


def Parallelize_CPU(*args: Any, **kwargs: Any) -> None:
    """Parallelize on the CPU: the devices are replicas that share its cores."""
    kwargs["cpu_device"] = True
    Parallelize(*args, **kwargs)


def Parallelize_iDeep(*args: Any, **kwargs: Any) -> None:
    """Parallelize_CPU under Caffe2's name for iDeep; the operators of the CPU use oneDNN."""
    kwargs["ideep"] = True
    Parallelize(*args, **kwargs)


def Parallelize(
    model_helper_obj: ModelHelper,
    input_builder_fun: Callable[[Any], object],
    forward_pass_builder_fun: Callable[[Any, float], Any],
    param_update_builder_fun: Callable[[Any], object] | None = None,
    optimizer_builder_fun: Callable[[Any], Optimizer] | None = None,
    post_sync_builder_fun: Callable[[Any], object] | None = None,
    pre_grad_net_transformer_fun: Callable[[Any], object] | None = None,
    net_transformer_fun: Callable[[Any, int, str, int], object] | None = None,
    devices: Iterable[int] | None = None,
    rendezvous: Mapping[str, Any] | None = None,
    net_type: str = "dag",
    broadcast_computed_params: bool = True,
    optimize_gradient_memory: bool = False,
    dynamic_memory_management: bool = False,
    blobs_to_keep: Iterable[BlobLike] | None = None,
    use_nccl: bool = False,
    max_concurrent_distributed_ops: int = 16,
    cpu_device: bool = False,
    ideep: bool = False,
    num_threads_per_device: int = 4,
    shared_model: bool = False,
    combine_spatial_bn: bool = False,
    barrier_net_timeout_sec: float = _DEFAULT_BARRIER_NET_TIMEOUT_SEC,
    passes: C.TrainingPasses | None = None,
) -> None:
    """Makes a model data parallel.

    Args:
      model_helper_obj: an empty ModelHelper.
      input_builder_fun: function(model) that adds the inputs of one replica.
      forward_pass_builder_fun: function(model, loss_scale) that adds the rest and returns the list
        of its losses, each scaled by loss_scale = 1 / (devices * shards).
      param_update_builder_fun: function(model) that updates the parameters of one replica; or
      optimizer_builder_fun: function(model), called once, that adds an optimizer for all and
        returns it. Without both the model is for testing: no gradients.
      post_sync_builder_fun: function(model), for each replica, after the parameters are equal.
      pre_grad_net_transformer_fun: function(model), called before the gradients are added.
      net_transformer_fun: function(model, number of devices, prefix, device type), after it.
      devices: numbers of the devices; default: all GPUs, or one CPU replica for each core.
      rendezvous: None for one process, else what RendezvousFromEnvironment returns, or a dict with
        num_shards, shard_id, kv_handler (blob of a RedisStoreHandlerCreate or
        FileStoreHandlerCreate), engine ("GLOO", or "NCCL" for shards with GPUs of their own),
        transport, interface, port_range (like "4000-4010") and exit_nets (None, or a list of nets,
        to which operators that close the connections are added). With mpi_rendezvous and no
        kv_handler, the variables of mpirun tell the store.
      net_type: the net's executor.
      broadcast_computed_params: in every run, copies the running statistics of the first device to
        the other devices of this shard.
      optimize_gradient_memory: lets gradients share memory (see memonger.share_grad_blobs).
      dynamic_memory_management: frees each blob after its last use.
      blobs_to_keep: blobs, without device, that dynamic_memory_management and `passes` leave as
        they are, because they are also read outside of the net. Losses are always kept.
      use_nccl, max_concurrent_distributed_ops: without effect: the GPUs of a shard always sum by
        NCCL, sums are grouped into buckets, and their order is the same on all shards.
      cpu_device: replicas run on the CPU.
      ideep: another name of cpu_device.
      num_threads_per_device: threads of the executor.
      shared_model: CPU replicas share one copy of the parameters.
      combine_spatial_bn: SpatialBN normalizes over the batches of all devices of the shard.
      barrier_net_timeout_sec: how long RunNet waits for other shards before its first iteration.
      passes: None, or the TrainingPasses that prepare the net, as they do for the C++ trainers.
        ChooseTrainingPasses returns the passes that make training faster. RunInitNet must then make
        the net. With memory_plan its operators run in the order in which they were added.
        unused_gradients removes gradients that no operator of the net reads at this point, usually
        the gradient of the data, unless they are external outputs or in blobs_to_keep.

    Raises ValueError for contradicting arguments, replicas that differ, and training without a
    rendezvous in a process that a launcher started as one of several; RuntimeError if a CUDA device
    does not exist; AssertionError in the scope of a GPU.
    """
    model = model_helper_obj
    if param_update_builder_fun is not None and optimizer_builder_fun is not None:
        raise ValueError("Can only specify one of param_update_builder_fun, optimizer_builder_fun")
    if optimize_gradient_memory and dynamic_memory_management:
        raise ValueError(
            "optimize_gradient_memory and dynamic_memory_management cannot both be True"
        )
    trains = param_update_builder_fun is not None or optimizer_builder_fun is not None
    check_passes(
        passes, trains, optimize_gradient_memory or dynamic_memory_management, combine_spatial_bn
    )
    set_up(
        model,
        devices,
        rendezvous,
        net_type,
        cpu_device or ideep,
        num_threads_per_device,
        shared_model,
        trains,
    )
    if not trains and model.init_params:
        log.warning(
            "Model %s is used for testing but has init_params=True, which would initialize "
            "its parameters again",
            model.name,
        )
    earlier_params = copy.copy(model.params)
    losses = build_replicas(model, input_builder_fun, forward_pass_builder_fun, trains)
    _note_params(model, earlier_params)
    if pre_grad_net_transformer_fun is not None:
        pre_grad_net_transformer_fun(model)
    if trains:
        model._passes = passes
        if passes is not None:
            prepare_forward(model, losses, blobs_to_keep)
        add_gradients(model, losses)
    if net_transformer_fun is not None:
        net_transformer_fun(model, len(model._devices), model._device_prefix, model._device_type)
    if not trains:
        log.info("no updates of parameters: only the forward pass")
        if model._shared_model:
            all_params = model.GetParams("")
            keep_params_of_first_device(model)
            share_params_of_first_device(model, all_params)
        progress.show_testing(model)
        return
    progress.show_training(model, losses)
    if combine_spatial_bn:
        _combine_spatial_bn(model)
    _note_gradients(model, earlier_params)
    if broadcast_computed_params:
        sync.copy_computed_params(model)
    sync.reduce_gradients(model)
    all_params = model.GetParams("")
    if model._shared_model:
        keep_params_of_first_device(model)
    if param_update_builder_fun is not None:
        for_each_device(model, lambda device: param_update_builder_fun(model))
    elif optimizer_builder_fun is not None:
        model._optimizer = optimizer_builder_fun(model)
    blobs, names = blobs_of_init_net(model)
    _note_replicas(model, blobs)
    check_devices_of_operators(model.net, model)
    model.net.AddArgument("first_iter_only_one_worker", 1)
    sync.broadcast(model, model.param_init_net, names)
    if post_sync_builder_fun is not None:
        for_each_device(model, lambda device: post_sync_builder_fun(model))
    if optimize_gradient_memory:
        OptimizeGradientMemory(model, None, set(), False)
    if dynamic_memory_management:
        free_blobs_when_used(model, blobs_to_keep)
    if model._shared_model:
        share_params_of_first_device(model, all_params)
    if passes is not None:
        prepare_training(model, GetLearningRateBlobNames(model))
    sync.barrier_of_epochs(model, barrier_net_timeout_sec)


def ChooseTrainingPasses(
    device_type: int, order: str = "NCHW", dtype: int = caffe2_pb2.TensorProto.FLOAT
) -> C.TrainingPasses:
    """The TrainingPasses that the C++ trainers use on devices of the type caffe2_pb2.CPU or
    caffe2_pb2.CUDA, for images of this storage order and element type: fusion of operators and
    updates and sums of gradients, planned memory, no gradients that no operator reads, and on GPUs,
    in 16 bits, fuse_conv and filter_copies. If you fetch a gradient, such as the gradient of the
    data, name it in `blobs_to_keep` of Parallelize."""
    return C.choose_training_passes(device_type, order, dtype)


def _note_params(model, earlier_params):
    model._device_grouped_blobs = group_by_device(model, model.params, earlier_params)
    computed = group_by_device(model, model.GetComputedParams(""))
    model._device_grouped_blobs.update(computed)
    model._param_names = list(model._device_grouped_blobs)
    model._computed_param_names = list(computed)


def _note_gradients(model, earlier_params):
    validate_params(model.params)
    gradients = [
        model.param_to_grad[param]
        for param in model.params[len(earlier_params) :]
        if param in model.param_to_grad
    ]
    grouped = group_by_device(model, gradients)
    model._device_grouped_blobs.update(grouped)
    model._grad_names = list(grouped)


def _note_replicas(model, blobs):
    """Adds blobs to the groups; a shared model may have its parameters on the first device only."""
    for blob in blobs:
        device = int(str(blob)[len(model._device_prefix) + 1 :].partition("/")[0])
        model._device_grouped_blobs.setdefault(stripBlobName(blob), {})[device] = blob
    if model._shared_model:
        shared = set(model._param_names) - set(model._computed_param_names)
        for name in shared:
            replicas = model._device_grouped_blobs[name]
            model._device_grouped_blobs[name] = {model._devices[0]: replicas[model._devices[0]]}


# -- Running ---------------------------------------------------------------------------------------


def CreateNet(model: ModelHelper, overwrite: bool = False) -> None:
    """Creates the nets that RunNet runs; `overwrite` replaces nets of the same names."""
    for net in model._data_parallel_model_nets:
        workspace.CreateNet(net[0] if isinstance(net, tuple) else net, overwrite=overwrite)


def RunInitNet(model: ModelHelper) -> None:
    """Runs the init nets of the model and creates the nets that RunNet runs."""
    for net in model._data_parallel_model_init_nets:
        workspace.RunNetOnce(net)
    place_training(model)
    CreateNet(model)


def RunWarmup(model: ModelHelper) -> None:
    """Runs a BMUF model's first iterations, then copies the parameters of the first device of
    shard 0 to all devices."""
    workspace.RunNet(model.net, model._warmup_iterations)
    workspace.RunNetOnce(model._warmup_broadcast)


def RunNet(model: ModelHelper, num_iterations: int) -> None:
    """Waits until all shards have called this, then runs `num_iterations` iterations and, for BMUF,
    the update of the global model."""
    for net in model._data_parallel_model_nets:
        if isinstance(net, tuple):
            workspace.RunNet(net[0].Proto().name, net[1])
        elif net is model.net:
            workspace.RunNet(net.Proto().name, num_iterations)
        else:
            workspace.RunNet(net.Proto().name)


def Synchronize(model: ModelHelper, timeout_sec: float = _DEFAULT_BARRIER_NET_TIMEOUT_SEC) -> None:
    """Waits until all shards have called this; returns at once if there is one shard.

    Raises RuntimeError if one does not within `timeout_sec` seconds, ValueError if `timeout_sec`
    differs from the first call's.
    """
    if sync.num_shards(model) == 1:
        return
    if model._sync_barrier_net is None:
        log.info("Creating synchronization barrier net")
        init_net = core.Net("sync_barrier_init_net")
        model._sync_barrier_net = sync.create_barrier_net(model, init_net, "sync", timeout_sec)
        workspace.RunNetOnce(init_net)
        workspace.CreateNet(model._sync_barrier_net)
        model._sync_barrier_net_timeout = timeout_sec
    if model._sync_barrier_net_timeout != timeout_sec:
        raise ValueError(
            f"timeout_sec ({timeout_sec}) differs from the first call's, "
            f"{model._sync_barrier_net_timeout}"
        )
    workspace.RunNet(model._sync_barrier_net)


def _RunComparison(model, blob_name, device=None):
    """True if a float blob is the same on all shards; see same_on_all_shards. `device` is the
    blob's."""
    with core.DeviceScope(device) if device is not None else core.EmptyDeviceScope():
        return sync.same_on_all_shards(model, blob_name)


# -- Checkpoints -----------------------------------------------------------------------------------


def GetCheckpointParams(model: ModelHelper) -> set[BlobLike]:
    """The set of blobs to save: the blobs that the init net fills on the first device, and the
    iteration counters, which are outside the scopes of the devices."""
    blobs, _ = blobs_of_init_net(model)
    first = device_scope_name(model, model._devices[0])
    kept: set[BlobLike] = {blob for blob in blobs if str(blob).startswith(first)}
    for op in model.net.Proto().op:
        if op.type in ("Iter", "AtomicIter") and not op.output[0].startswith(
            model._device_prefix + "_"
        ):
            kept.add(op.output[0])
    return kept


def FinalizeAfterCheckpoint(
    model: ModelHelper, blobs: Iterable[BlobLike] | None = None, cpu_mode: bool = False
) -> None:
    """Copies loaded blobs from the first device of shard 0 to all other devices and shards.

    Args:
      blobs: default: all that the init net fills.
      cpu_mode: without effect: the copies are made on the devices of the model.
    """
    if model._checkpoint_net is None:
        names = (
            blobs_of_init_net(model)[1]
            if blobs is None
            else sorted({stripBlobName(blob) for blob in blobs})
        )
        sync.add_blobs_to_sync(
            model, [name for name in names if name not in model._device_grouped_blobs]
        )
        model._checkpoint_net = core.Net("checkpoint_sync_net")
        sync.broadcast(model, model._checkpoint_net, names)
        workspace.CreateNet(model._checkpoint_net)
    log.info("Run checkpoint net")
    workspace.RunNet(model._checkpoint_net.Proto().name)
    if model._prepared is not None and model._prepared.filter_copies:
        place_training(model)  # its copies of filters hold the old values


def AddDistributedBlobSync(model: ModelHelper, blobs: Iterable[BlobLike]) -> None:
    """Adds the sums of blobs, which are on no device of the model, over all shards."""
    if sync.num_shards(model) == 1:
        return
    sync.add_common_worlds(model)
    world = core.BlobReference(sync._ALLREDUCE_WORLD)
    previous = sync.last_exchange(model.net)  # one order of collectives on all shards
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        for blob in blobs:
            blob = core.BlobReference(str(blob))
            model.net.Allreduce(
                [world, blob],
                [blob],
                engine="GLOO",
                name=f"blob_sync_{blob}",
                control_input=previous,
            )
            previous = [blob]


# -- Nets ------------------------------------------------------------------------------------------


def ConvertNetForDevice(net: core.Net, device: caffe2_pb2.DeviceOption | None = None) -> core.Net:
    """A copy of a net with all its blobs and operators on one device (default: the device scope's):
    blob "w" is "gpu_0/w".

    Raises ValueError without a device, and if the net has recurrent operators, whose step nets
    would not change.
    """
    device = device or scope.CurrentDeviceScope()
    if device is None:
        raise ValueError(f"net {net.Name()} has no device: pass one, or open a DeviceScope")
    prefix = "gpu" if core.IsGPUDeviceType(device.device_type) else "cpu"
    name_scope = f"{prefix}_{device.device_id}/"
    converted = copy.deepcopy(net)
    proto = converted.Proto()
    for op in proto.op:
        if op.type.startswith("RecurrentNetwork"):
            raise ValueError(f"operator {op.type} cannot be converted for a device")
        for blobs in (op.input, op.output, op.control_input):
            blobs[:] = [name_scope + blob for blob in blobs]
        op.device_option.CopyFrom(device)
    for blobs in (proto.external_input, proto.external_output):
        blobs[:] = [name_scope + blob for blob in blobs]
    converted._InvalidateLookupTables()
    return converted


def GetLearningRateBlobNames(model: ModelHelper) -> list[str]:
    """The blobs that hold the learning rates."""
    if model._optimizer is None:
        return [op.output[0] for op in model.net.Proto().op if op.type == "LearningRate"]
    if model._device_type == caffe2_pb2.CPU:
        return [model._optimizer.get_cpu_blob_name("lr")]
    return [model._optimizer.get_gpu_blob_name("lr", device) for device in model._devices]


def ExtractPredictorNet(
    model: ModelHelper,
    inputs: Iterable[BlobLike],
    outputs: Iterable[BlobLike],
    device: caffe2_pb2.DeviceOption | None,
) -> tuple[core.Net, list[str]]:
    """(the net that computes `outputs` from `inputs`, its parameters), all without the name scope
    of a device, from the replica of the first device."""
    prefix = device_scope_name(model, model._devices[0])
    proto = model.net.Proto()
    renames = {
        blob: blob[len(prefix) :]
        for op in proto.op
        for blob in (*op.input, *op.output)
        if blob.startswith(prefix)
    }
    return model_helper.ExtractPredictorNet(
        net_proto=proto,
        input_blobs=[prefix + str(blob) for blob in inputs],
        output_blobs=[prefix + str(blob) for blob in outputs],
        device=device,
        renames=renames,
    )
