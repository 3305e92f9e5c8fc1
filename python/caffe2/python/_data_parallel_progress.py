"""What a data-parallel model says about itself for the status of a distributed run: arguments of
its net that name the blobs with the loss and the images (distributed/run_progress.h); part of
data_parallel_model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._data_parallel_replicas import device_scope_name
from caffe2.python.model_helper import ModelHelper


def note_input(model: ModelHelper, device: int, begin: int) -> None:
    """Records the first blob that the input builder has made on a device: the first output of the
    operators from index `begin` on."""
    for op in list(model.net.Proto().op)[begin:]:
        if op.output:
            model._input_blobs[device] = op.output[0]
            return


def show_testing(model: ModelHelper) -> None:
    """Lets the status say "testing" while the net runs."""
    model.net.AddArgument("progress_state", "testing")


def show_training(model: ModelHelper, losses: Mapping[int, Iterable[BlobLike]]) -> None:
    """Lets the status show loss and speed. `losses`: {device: blobs}, as the forward function
    returned them."""
    if model._rendezvous is None:
        return
    blobs, scales = [], []
    for device in model._devices:
        for loss in losses[device]:
            blob, scale = _unscaled(model, str(loss))
            blobs.append(blob)
            scales.append(scale / len(model._devices))
    images = [model._input_blobs.get(device) or _first_read(model, device)
              for device in model._devices]
    model.net.AddArgument("progress_loss", blobs)
    model.net.AddArgument("progress_loss_scale", scales)
    model.net.AddArgument("progress_images", [blob for blob in images if blob])


def _unscaled(model, loss):
    """(blob, factor) whose product is the loss before it was scaled by 1 / (devices * shards)."""
    for op in model.net.Proto().op:
        if op.type == "Scale" and op.output[0] == loss:
            factor = next((arg.f for arg in op.arg if arg.name == "scale"), 1.0)
            return (loss, 1 / factor) if op.input[0] == loss and factor else (op.input[0], 1.0)
    return loss, 1.0


def _first_read(model, device):
    """The first blob that the net reads on a device, and does not make, which is no parameter: what
    the caller feeds. None if there is none."""
    params = {str(param) for param in (*model.GetParams(""), *model.GetComputedParams(""))}
    prefix, made = device_scope_name(model, device), set()
    for op in model.net.Proto().op:
        for blob in op.input:
            if blob.startswith(prefix) and blob not in made and blob not in params:
                return blob
        made.update(op.output)
    return None
