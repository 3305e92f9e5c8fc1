"""The passes of TrainingPasses over data-parallel models; part of data_parallel_model."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._data_parallel_replicas import device_scope_name, replace_proto
from caffe2.python.model_helper import ModelHelper

log = logging.getLogger("data_parallel_model")


def check_passes(passes: C.TrainingPasses | None, trains: bool, other_memory: bool,
                 combine_spatial_bn: bool) -> None:
    """Raises ValueError for passes that cannot be used together with other arguments of
    Parallelize; TypeError unless `passes` is a TrainingPasses."""
    if passes is None:
        return
    if not trains:
        raise ValueError("passes need a param_update_builder_fun or an optimizer_builder_fun: they "
                         "prepare nets that train")
    if not isinstance(passes, C.TrainingPasses):
        raise TypeError(f"passes must be TrainingPasses, not {passes!r}")
    if passes.memory_plan and other_memory:
        raise ValueError("passes with memory_plan and optimize_gradient_memory or "
                         "dynamic_memory_management cannot be used together")
    if combine_spatial_bn and (passes.fuse != "off" or passes.fuse_conv != "none"):
        raise ValueError("combine_spatial_bn needs passes with fuse=\"off\" and "
                         f"fuse_conv=\"none\", not {passes.fuse!r} and {passes.fuse_conv!r}")


def prepare_forward(model: ModelHelper, losses: Mapping[int, Iterable[BlobLike]],
                    blobs_to_keep: Iterable[BlobLike] | None) -> None:
    """The passes before the backward pass. `losses` is {device: losses}."""
    model._passes_keep = {str(loss) for device in model._devices for loss in losses[device]}
    for device in model._devices:
        prefix = device_scope_name(model, device)
        model._passes_keep.update(prefix + str(blob) for blob in blobs_to_keep or ())
    proto = C.prepare_forward(
        model.net.Proto().SerializeToString(), model._passes, model._passes_keep)
    replace_proto(model.net, caffe2_pb2.NetDef.FromString(proto))


def prepare_training(model: ModelHelper, learning_rates: Iterable[BlobLike]) -> None:
    """The passes after the updates."""
    model._passes_keep.update(map(str, learning_rates))
    proto, model._prepared = C.prepare_training(
        model.net.Proto().SerializeToString(), model.param_init_net.Proto().SerializeToString(),
        model._passes, model._passes_keep)
    replace_proto(model.net, caffe2_pb2.NetDef.FromString(proto))


def place_training(model: ModelHelper) -> None:
    """Places the blobs of the net, whose parameters have their values, in the workspace."""
    if model._prepared is None:
        return
    for device, planned, unplanned in C.place_training(
            model.net.Proto().SerializeToString(), model._prepared, model._passes_keep):
        log.info("Planned memory of %s: %.2f MiB instead of %.2f", device, planned / 2**20,
                 unplanned / 2**20)
