"""Pooling."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.helpers._shared import with_engine
from caffe2.python.model_helper import ModelHelper


def max_pool(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, use_cudnn: bool = False,
             order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """The maximum of each window: kernel, stride, pad in pixels, or global_pooling=True."""
    return model.net.MaxPool(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def average_pool(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
                 use_cudnn: bool = False, order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """The mean of each window: kernel, stride, pad in pixels, or global_pooling=True."""
    return model.net.AveragePool(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def max_pool_with_index(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
                        order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """max_pool, and the position of each maximum, in the blob "_<blob_out>_index"."""
    return model.net.MaxPoolWithIndex(  # type: ignore[attr-defined]  # only where there are GPUs
        blob_in, [blob_out, f"_{blob_out}_index"], order=order, **kwargs)[0]
