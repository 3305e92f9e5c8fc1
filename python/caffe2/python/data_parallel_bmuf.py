"""Block-wise model update filtering; public through data_parallel_model.

Chen and Huo, "Scalable training of deep learning machines by incremental block training with
intra-block parallel optimization and blockwise model-update filtering", ICASSP 2016.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from caffe2.python import _data_parallel_sync as sync
from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._data_parallel_build import (
    OptimizeGradientMemory,
    add_gradients,
    build_replicas,
    set_up,
)
from caffe2.python._data_parallel_replicas import (
    check_devices_of_operators,
    for_each_device,
    group_by_device,
)
from caffe2.python.model_helper import ModelHelper


def Parallelize_GPU_BMUF(*args: Any, **kwargs: Any) -> None:
    """Parallelize_BMUF on CUDA devices."""
    kwargs["cpu_device"] = False
    Parallelize_BMUF(*args, **kwargs)


def Parallelize_CPU_BMUF(*args: Any, **kwargs: Any) -> None:
    """Parallelize_BMUF on the CPU."""
    kwargs["cpu_device"] = True
    Parallelize_BMUF(*args, **kwargs)


def Parallelize_BMUF(model_helper_obj: ModelHelper, input_builder_fun: Callable[[Any], object],
                     forward_pass_builder_fun: Callable[[Any, float], list[core.BlobReference]],
                     param_update_builder_fun: Callable[[Any], object],
                     block_learning_rate: float = 1.0, block_momentum: float | None = None,
                     devices: Iterable[int] | None = None,
                     rendezvous: Mapping[str, Any] | None = None, net_type: str = "dag",
                     master_device: int | None = None, use_nccl: bool = False,
                     nesterov: bool = False, optimize_gradient_memory: bool = False,
                     reset_momentum_sgd: bool = False, warmup_iterations: int | None = None,
                     max_concurrent_distributed_ops: int = 4,
                     add_blobs_to_sync: Iterable[BlobLike] | None = None,
                     num_threads_per_device: int = 4, cpu_device: bool = False,
                     barrier_net_timeout_sec: float = sync._DEFAULT_BARRIER_NET_TIMEOUT_SEC
                     ) -> None:
    """Makes a model that every device trains by itself for some iterations, after which the
    parameters of all are averaged into a global model with momentum:

        v = block_momentum * v + block_learning_rate * (mean of w - g);  g = g + v;  w = g

    where g, blob "<param>_g", is the global model and v, "<param>_v", its momentum, both on the
    master device. With `nesterov`, block_momentum * (v - previous v) is also subtracted from g.

    Args, where they differ from data_parallel_model.Parallelize:
      block_momentum: default 1 - 1 / (devices * shards).
      master_device: the device of the global model. Must be the first device, which is the default.
      reset_momentum_sgd: sets the momentum of MomentumSGDUpdate to zero at each global update.
      warmup_iterations: how many iterations RunWarmup runs before the devices start from one model.
      add_blobs_to_sync: further blobs, named without device, that each global update copies from
        the first device of shard 0 to all others.

    Call RunInitNet, then RunNet(model, n), which runs n iterations and one global update,
    repeatedly.
    """
    model = model_helper_obj
    set_up(model, devices, rendezvous, net_type, cpu_device, num_threads_per_device, False)
    if master_device not in (None, model._devices[0]):
        raise ValueError(f"the master device is the first one, {model._devices[0]}, not "
                         f"{master_device}")
    replicas = len(model._devices) * sync.num_shards(model)
    if block_momentum is None:
        block_momentum = 1.0 - 1.0 / replicas
    _build(model, input_builder_fun, forward_pass_builder_fun, param_update_builder_fun)
    if optimize_gradient_memory:
        OptimizeGradientMemory(model, None, set(), False)

    names = model._param_names
    sync.broadcast(model, model.param_init_net, names)
    init_net = model._global_model_init_net = _net_like(model, "global_model_init")
    update_net = model._global_model_param_updates_net = _net_like(model, "global_model")
    params = [model._device_grouped_blobs[name][model._devices[0]] for name in names]
    with core.DeviceScope(core.DeviceOption(model._device_type, model._devices[0])):
        _add_global_init(init_net, params, nesterov)
        sync.sum_params(model, update_net, names)
        for param in params:
            _add_global_update(update_net, param, replicas, block_learning_rate, block_momentum,
                               nesterov)
    sync.broadcast(model, update_net, names)
    if warmup_iterations is not None:
        _add_warmup(model, warmup_iterations, params)
    if add_blobs_to_sync is not None:
        sync.AddBlobSync(model, add_blobs_to_sync, net=update_net)
    if reset_momentum_sgd:
        _add_momentum_reset(model, update_net)
    model._data_parallel_model_init_nets = [model.param_init_net, init_net]
    model._data_parallel_model_nets = [model.net, (update_net, 1)]
    sync.barrier_of_epochs(model, barrier_net_timeout_sec)


def _build(model, input_builder_fun, forward_pass_builder_fun, param_update_builder_fun):
    earlier_params = copy.copy(model.params)
    losses = build_replicas(model, input_builder_fun, forward_pass_builder_fun, True)
    model._device_grouped_blobs = group_by_device(model, model.params, earlier_params)
    model._param_names = list(model._device_grouped_blobs)
    model._computed_param_names = []
    add_gradients(model, losses)
    for_each_device(model, lambda device: param_update_builder_fun(model))
    check_devices_of_operators(model.net, model)


def _net_like(model, name):
    net = core.Net(name)
    net.Proto().type = model.net.Proto().type
    net.Proto().num_workers = model.net.Proto().num_workers
    return net


def _add_global_init(net, params, nesterov):
    for param in params:
        net.ConstantFill(param, param + "_v", value=0.0)
        net.Copy(param, param + "_g")
        if nesterov:
            net.ConstantFill(param, param + "_prev", value=0.0)


def _add_global_update(net, param, replicas, learning_rate, momentum, nesterov):
    """The update of one parameter, whose sum over the replicas is in `param`."""
    v, g, previous = param + "_v", param + "_g", param + "_prev"
    net.Scale(param, param, scale=1.0 / replicas)
    net.Sub([param, g], param)
    net.Scale(param, param, scale=learning_rate)
    net.Scale(v, v, scale=momentum)
    net.Add([v, param], v)
    net.Add([g, v], g)
    if nesterov:
        net.Sub([v, previous], previous)
        net.Scale(previous, previous, scale=momentum)
        net.Sub([g, previous], g)
        net.Copy(v, previous)
    net.Copy(g, param)


def _add_warmup(model, iterations, params):
    model._warmup_iterations = iterations
    net = model._warmup_broadcast = _net_like(model, "warmup-broadcast")
    sync.broadcast(model, net, model._param_names)
    with core.DeviceScope(core.DeviceOption(model._device_type, model._devices[0])):
        for param in params:
            net.Copy(param, param + "_g")


def _add_momentum_reset(model, net):
    for op in model.net.Proto().op:
        if op.type == "MomentumSGDUpdate":
            momentum = core.BlobReference(op.input[1])
            with core.DeviceScope(op.device_option):
                net.ConstantFill([momentum], momentum, value=0.0)
