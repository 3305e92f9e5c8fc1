"""Input of images and clips."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.model_helper import ModelHelper


def image_input(model: ModelHelper, blob_in: BlobsLike, blob_out: Sequence[BlobLike],
                order: str = "NCHW", use_gpu_transform: bool = False,
                **kwargs: Any) -> list[BlobReference]:
    """Batches of images of a database reader: [data, label, ...], data [N, C, H, W] or NHWC.

    See the operator ImageInput for sizes, mean, std and augmentation.
    """
    if order == "NHWC" or use_gpu_transform:
        if use_gpu_transform:
            kwargs["use_gpu_transform"] = 1
        return model.net.ImageInput(blob_in, blob_out, order=order, **kwargs)
    # On the CPU the operator writes NHWC, as in Caffe2.
    outputs = model.net.ImageInput(blob_in, [f"{blob_out[0]}_nhwc", *blob_out[1:]], **kwargs)
    return [model.net.NHWC2NCHW(outputs[0], blob_out[0]), *outputs[1:]]


def video_input(model: ModelHelper, blob_in: BlobsLike, blob_out: Sequence[BlobLike],
                **kwargs: Any) -> Any:
    """Batches of clips of a database reader; needs the operator VideoInput."""
    return model.net.VideoInput(  # type: ignore[attr-defined]  # of another library
        blob_in, blob_out, **kwargs)
