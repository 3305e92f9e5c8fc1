"""Dropout."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.helpers._shared import with_engine
from caffe2.python.model_helper import ModelHelper


def dropout(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, use_cudnn: bool = False,
            **kwargs: Any) -> BlobReference:
    """Zeroes elements at random with probability `ratio` and scales the others; copies with
    is_test=True."""
    kwargs = with_engine(use_cudnn, kwargs)
    if kwargs.get("is_test", False):
        return model.net.Dropout(blob_in, [blob_out], **kwargs)
    return model.net.Dropout(blob_in, [blob_out, f"_{blob_out}_mask"], **kwargs)[0]
