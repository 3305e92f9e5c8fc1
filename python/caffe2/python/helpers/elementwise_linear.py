"""A linear function of each column."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.helpers._shared import add_param
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike
from caffe2.python.modeling.parameter_info import ParameterTags


def elementwise_linear(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim: int,
                       weight_init: FillerLike | None = None, bias_init: FillerLike | None = None,
                       **kwargs: Any) -> BlobReference:
    """Y = X * w + b with one w and b for each column: X and Y [N, dim]; parameters <blob_out>_w (1
    at first) and _b (0) [dim]."""
    blob_out = blob_out or model.net.NextName()
    w = add_param(model, blob_out + "_w", [dim], weight_init, ("ConstantFill", {"value": 1.0}),
                  ParameterTags.WEIGHT)
    b = add_param(model, blob_out + "_b", [dim], bias_init, ("ConstantFill", {"value": 0.0}),
                  ParameterTags.BIAS)
    return model.net.ElementwiseLinear([blob_in, w, b], blob_out, **kwargs)
