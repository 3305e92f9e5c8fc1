"""Fully connected layers."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.helpers._shared import add_weight_and_bias
from caffe2.python.helpers.fc_variants import fc_decomp, fc_prune, fc_sparse, packed_fc
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike, InitializerLike

__all__ = ["fc", "fc_decomp", "fc_prune", "fc_sparse", "packed_fc"]


def fc(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int, dim_out: int,
       weight_init: FillerLike | None = None, bias_init: FillerLike | None = None,
       WeightInitializer: InitializerLike | None = None,
       BiasInitializer: InitializerLike | None = None, enable_tensor_core: bool = False,
       freeze_bias: bool = False, **kwargs: Any) -> BlobReference:
    """Y = X W^T + b.

    Args:
      blob_in: X [N, dim_in], or of more dimensions that flatten to it.
      blob_out: Y [N, dim_out]; the parameters are <blob_out>_w [dim_out, dim_in] and
        <blob_out>_b [dim_out].
      weight_init, bias_init: (operator type, arguments).
      freeze_bias: True for a bias that is not trained.
    """
    blob_out = blob_out or model.net.NextName()
    parameters = add_weight_and_bias(
        model, blob_out, [dim_out, dim_in], [dim_out], weight_init, bias_init, WeightInitializer,
        BiasInitializer, freeze_bias=freeze_bias)
    if enable_tensor_core:
        kwargs["engine"] = "TENSORCORE"
    return model.net.FC([blob_in, *parameters], blob_out, **kwargs)
