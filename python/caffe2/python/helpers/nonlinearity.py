"""Activations."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.helpers._shared import with_engine
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike


def relu(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, use_cudnn: bool = False,
         order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """max(x, 0); may be in place."""
    kwargs["order"] = order
    return model.net.Relu(blob_in, blob_out, **with_engine(use_cudnn, kwargs))


def tanh(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, use_cudnn: bool = False,
         order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """Hyperbolic tangent; may be in place."""
    kwargs["order"] = order
    return model.net.Tanh(blob_in, blob_out, **with_engine(use_cudnn, kwargs))


def prelu(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike, num_channels: int = 1,
          slope_init: FillerLike | None = None, **kwargs: Any) -> BlobReference:
    """Relu with a trained slope below zero, <blob_out>_slope [num_channels], 0.25 at first."""
    operator, arguments = slope_init or ("ConstantFill", {"value": 0.25})
    if model.init_params:
        fill = getattr(model.param_init_net, operator)
        slope = fill([], blob_out + "_slope", shape=[num_channels], **arguments)
    else:
        slope = core.ScopedBlobReference(f"{blob_out}_slope", model.param_init_net)
    model.AddParameter(slope)
    return model.net.PRelu([blob_in, slope], [blob_out], **kwargs)
