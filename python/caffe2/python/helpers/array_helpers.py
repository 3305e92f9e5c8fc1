"""Joining blobs."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.model_helper import ModelHelper


def concat(model: ModelHelper, blobs_in: BlobsLike, blob_out: BlobLike,
           **kwargs: Any) -> BlobReference:
    """Joins blobs along `axis`, or along the channels of `order`."""
    return model.net.Concat(blobs_in, [blob_out, f"_{blob_out}_concat_dims"], **kwargs)[0]


def depth_concat(model: ModelHelper, blobs_in: BlobsLike, blob_out: BlobLike,
                 **kwargs: Any) -> BlobReference:
    """Joins blobs along their channels."""
    return model.net.DepthConcat(blobs_in, [blob_out, f"_{blob_out}_concat_dims"], **kwargs)[0]
