"""Counting, accuracy and weight decay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import core, scope
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper


def _is_cpu(device):
    return device is None or device.device_type == caffe2_pb2.CPU


def accuracy(model: ModelHelper, blob_in: Sequence[BlobLike], blob_out: BlobLike,
             **kwargs: Any) -> BlobReference:
    """The share of the rows of [prediction, label] whose label is among the `top_k` (1) best."""
    device = kwargs.get("device_option", scope.CurrentDeviceScope())
    if _is_cpu(device) or kwargs.get("top_k", 1) == 1:
        return model.net.Accuracy(blob_in, blob_out, **kwargs)
    # With top_k above 1 the operator exists for the CPU only.
    host = [model.net.CopyGPUToCPU(  # type: ignore[attr-defined]  # only where there are GPUs
        blob, str(blob) + "_host") for blob in blob_in]
    with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
        return model.net.Accuracy(host, blob_out, **kwargs)


def iter(model: ModelHelper, blob_out: BlobLike, **kwargs: Any) -> BlobReference:
    """An int64 counter on the CPU, which each run increases by 1."""
    kwargs.pop("device_option", None)
    cpu = core.DeviceOption(caffe2_pb2.CPU)
    counter = model.param_init_net.ConstantFill(
        [], blob_out, shape=[1], value=0, dtype=core.DataType.INT64, device_option=cpu, **kwargs)
    return model.net.Iter(counter, blob_out, device_option=cpu, **kwargs)


def add_weight_decay(model: ModelHelper, weight_decay: float) -> None:
    """Adds weight_decay * weight to the gradients of all weights; 0 adds nothing."""
    if weight_decay <= 0.0:
        return
    decay = model.param_init_net.ConstantFill([], "wd", shape=[1], value=weight_decay)
    one = model.param_init_net.ConstantFill([], "ONE", shape=[1], value=1.0)
    for param in model.weights:
        gradient: Any = model.param_to_grad[param]  # a blob: the operator refuses slices
        model.net.WeightedSum([gradient, one, param, decay], gradient)
