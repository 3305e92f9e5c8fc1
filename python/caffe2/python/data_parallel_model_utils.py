"""Puts parts of a data-parallel model on further GPUs, to train models that one GPU cannot hold."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping

from caffe2.python import core
from caffe2.python._data_parallel_replicas import device_scope_name, stripBlobName
from caffe2.python.model_helper import ModelHelper

__all__ = ["GetActivationBlobs", "ShiftActivationDevices"]

log = logging.getLogger("data_parallel_model_utils")


def GetActivationBlobs(model: ModelHelper) -> list[str]:
    """The names, without device, of the activations in the order in which they are made: blobs that
    operators make and read and that have a gradient. Parameters are not among them."""
    prefix = device_scope_name(model, model._devices[0])
    ops = model.net.Proto().op
    read = {blob for op in ops for blob in op.input}
    params = {str(param) for param in model.GetParams("")}
    names: dict[str, None] = {}
    for op in ops:
        for blob in op.output:
            if (blob.startswith(prefix) and not blob.endswith("_grad") and blob not in params
                    and blob in read and blob + "_grad" in read):
                names[stripBlobName(blob)] = None
    return list(names)


def ShiftActivationDevices(model: ModelHelper, activations: Collection[str],
                           shifts: Mapping[int, int]) -> None:
    """Moves activations, and the operators that make and differentiate them, to other GPUs; adds
    the copies between the GPUs. Call it after Parallelize, before the nets are run.

    Args:
      activations: names as GetActivationBlobs gives them.
      shifts: {number of a GPU of the model: number of the GPU that the activations move to}.

    Raises ValueError if a GPU is both a source and a target, or is not a GPU of the model.
    """
    if set(shifts) & set(shifts.values()):
        raise ValueError(f"shifts {shifts} move to GPUs that others are moved away from")
    unknown = sorted(set(shifts) - set(model._devices))
    if unknown:
        raise ValueError(f"shifts {shifts}: {unknown} are not among the model's devices "
                         f"{model._devices}")
    for source, target in shifts.items():
        log.info("Shifting %d activations from %s to %s", len(activations), source, target)
        _shift(model, activations, source, target)
    init_net, device_of = core.InjectCrossDeviceCopies(model.param_init_net)
    net, _ = core.InjectCrossDeviceCopies(model.net, device_of)
    for nets, old, new in ((model._data_parallel_model_init_nets, model.param_init_net, init_net),
                           (model._data_parallel_model_nets, model.net, net)):
        nets[:] = [new if each is old else each for each in nets]
    model.param_init_net, model.net = init_net, net


def _shift(model, activations, source, target):
    """Gives the operators of GPU `source`, and of the init net, the device of their blobs."""
    prefix = device_scope_name(model, source)
    moved = {prefix + name for name in activations}
    every = {prefix + name for name in GetActivationBlobs(model)} | moved
    device_of = {blob: target if blob in moved else source for blob in every}
    for op in model.net.Proto().op:
        option = op.device_option
        if option.device_type != model._device_type or option.device_id != source:
            continue
        blobs = [*op.input, *op.output]
        # Of several activations the last one counts, which the operator makes; else what it reads.
        placed = [device_of[blob] for blob in blobs if blob in every][-1:] or \
            [device_of[blob] for blob in blobs if blob in device_of][:1] or [source]
        option.device_id = placed[0]
        for blob in blobs:
            if blob.startswith(prefix):
                device_of.setdefault(blob, placed[0])
    for op in model.param_init_net.Proto().op:
        if op.output and op.output[0] in device_of:
            op.device_option.device_id = device_of[op.output[0]]
