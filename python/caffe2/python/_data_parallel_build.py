"""How the net of a data-parallel model is built from the caller's functions, and how it shares
memory; part of data_parallel_model."""

from __future__ import annotations

import logging
import operator
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import _data_parallel_progress as progress
from caffe2.python import _data_parallel_sync as sync
from caffe2.python import core, memonger, model_helper, scope, workspace
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._data_parallel_launch import complete_rendezvous
from caffe2.python._data_parallel_replicas import (
    device_scope_name,
    for_each_device,
    validate_params,
)
from caffe2.python.model_helper import ModelHelper

log = logging.getLogger("data_parallel_model")


def _devices_of(devices, cpu_device):
    """The numbers of the devices. Raises ValueError for anything that is no list of different
    numbers, RuntimeError for CUDA devices that do not exist."""
    available = len(os.sched_getaffinity(0)) if cpu_device else workspace.NumCudaDevices()
    given = range(available) if devices is None else devices
    try:
        numbers = [operator.index(device) for device in given]
    except TypeError:
        numbers = [-1]
    different = len(set(numbers)) == len(numbers) and min(numbers, default=0) >= 0
    if not different or cpu_device and not numbers:
        raise ValueError(f"devices is {devices!r}, must be a list of different numbers from 0 on, "
                         "such as [0, 1]")
    if not cpu_device and (not numbers or max(numbers) >= available):
        raise RuntimeError(
            f"CUDA devices {numbers or ''} are asked for, but there are {available}; use "
            "Parallelize_CPU, or cpu_device=True, to train on the CPU")
    return numbers


def set_up(model: Any, devices: Iterable[int] | None, rendezvous: Mapping[str, Any] | None,
           net_type: str, cpu_device: bool, num_threads_per_device: int, shared_model: bool,
           trains: bool = True) -> None:
    """Sets the attributes of a model that data_parallel_model reads. Raises the errors of
    Parallelize."""
    outer = scope.CurrentDeviceScope()
    assert outer is None or outer.device_type == caffe2_pb2.CPU, (
        f"Parallelize must not be called in the device scope {outer}")
    if not isinstance(model, model_helper.ModelHelper):
        raise TypeError(f"a ModelHelper is made data parallel, not {model!r}")
    if trains:
        rendezvous = complete_rendezvous(rendezvous)
    sync.check_rendezvous(rendezvous, on_gpus=not cpu_device)
    if shared_model and not cpu_device:
        raise ValueError("Shared model only supported on CPU")
    model._devices = _devices_of(devices, cpu_device)
    model._device_type = caffe2_pb2.CPU if cpu_device else caffe2_pb2.CUDA
    model._device_prefix = "cpu" if cpu_device else "gpu"
    model._shared_model = shared_model
    model._rendezvous = rendezvous
    model._sync_barrier_net = None
    model._checkpoint_net = None
    model._optimizer = None
    model._passes = model._prepared = None
    model._grad_names = []
    model._input_blobs = {}
    model._data_parallel_model_init_nets = [model.param_init_net]
    model._data_parallel_model_nets = [model.net]
    log.info("Parallelizing model for devices: %s", model._devices)
    proto = model.net.Proto()
    proto.type = net_type
    proto.num_workers = len(model._devices) * num_threads_per_device
    if sync.num_shards(model) > 1:
        proto.num_workers += 8  # for what waits for other shards


def build_replicas(model: ModelHelper, input_builder_fun: Callable[[Any], object],
                   forward_pass_builder_fun: Callable[[Any, float], Any],
                   trains: bool) -> dict[int, list[BlobReference]]:
    """Adds the replicas; returns {device: losses}."""
    for name, function in (("input_builder_fun", input_builder_fun),
                           ("forward_pass_builder_fun", forward_pass_builder_fun)):
        if not callable(function):
            raise TypeError(f"{name} is {function!r}, must be a function that gets the model")
    loss_scale = 1.0 / (len(model._devices) * sync.num_shards(model))
    losses = {}

    def build(device):
        begin = len(model.net.Proto().op)
        input_builder_fun(model)
        progress.note_input(model, device, begin)
        losses[device] = forward_pass_builder_fun(model, loss_scale)
        if not trains:
            return
        if not isinstance(losses[device], list):
            raise ValueError("Model builder function must return list of loss blobs, not "
                             f"{losses[device]!r}")
        for loss in losses[device]:
            if not isinstance(loss, core.BlobReference):
                raise ValueError(f"Model builder func must return list of loss blobs, not {loss!r}")

    for_each_device(model, build)
    validate_params(model.params)
    return losses


def add_gradients(model: ModelHelper, losses: Mapping[int, list[BlobReference]]) -> None:
    """Adds the backward pass, which starts from ones on the device of each loss."""
    starts = {}
    for device in model._devices:
        with core.DeviceScope(core.DeviceOption(model._device_type, device)):
            for loss in losses[device]:
                starts[str(loss)] = str(model.ConstantFill(loss, loss + "_grad", value=1.0))
    model.AddGradientOperators(starts)
    model._losses_by_gpu = losses


def OptimizeGradientMemory(model: ModelHelper, input_shapes: Mapping[str, Sequence[int]] | None,
                           excluded_blobs: Iterable[str], recycle_activations: bool) -> None:
    """Lets gradients of each replica share memory; before the net is created.

    Args:
      input_shapes: {input blob, without device: shape}, from which sizes are inferred; None: not.
      excluded_blobs: blobs, without device, that keep memory of their own.
      recycle_activations: gradients may take the memory of activations, too.
    """
    shapes = None
    if input_shapes is not None:
        shapes, _ = workspace.InferShapesAndTypes(
            [model.param_init_net, model.net],
            {device_scope_name(model, device) + name: shape
             for name, shape in input_shapes.items() for device in model._devices})
    for device in model._devices:
        prefix = device_scope_name(model, device)
        model.net._net = memonger.share_grad_blobs(
            model.net, model._losses_by_gpu[device], set(model.param_to_grad.values()), prefix,
            dont_share_blobs={prefix + blob for blob in excluded_blobs},
            share_activations=recycle_activations, blob_shapes=shapes)
        model.net._InvalidateLookupTables()


def free_blobs_when_used(model: ModelHelper, blobs_to_keep: Iterable[BlobLike] | None) -> None:
    """Frees each blob after its last use, except losses, `blobs_to_keep` (without device) and
    gradients that other shards read."""
    kept: set[str] = set()
    for device in model._devices:
        prefix = device_scope_name(model, device)
        kept.update(prefix + str(blob) for blob in blobs_to_keep or ())
        kept.update(map(str, model._losses_by_gpu[device]))
    if sync.num_shards(model) > 1:
        for grad in model.param_to_grad.values():
            kept.update(map(str, grad if isinstance(grad, core.GradientSlice) else [grad]))
    model.net._net = memonger.release_blobs_when_used(model.net.Proto(), kept)
    model.net._InvalidateLookupTables()
