"""Fully connected layers with packed, decomposed, pruned or sparse weights."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.helpers._shared import add_param, add_weight_and_bias
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike, InitializerLike
from caffe2.python.modeling.parameter_info import ParameterTags


def packed_fc(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
              dim_out: int, weight_init: FillerLike | None = None,
              bias_init: FillerLike | None = None, WeightInitializer: InitializerLike | None = None,
              BiasInitializer: InitializerLike | None = None, **kwargs: Any) -> BlobReference:
    """The same as fc: the operator FC itself lays out weights for the processor."""
    blob_out = blob_out or model.net.NextName()
    parameters = add_weight_and_bias(model, blob_out, [dim_out, dim_in], [dim_out], weight_init,
                                     bias_init, WeightInitializer, BiasInitializer)
    return model.net.FC([blob_in, *parameters], blob_out, **kwargs)


def fc_decomp(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
              dim_out: int, rank_approx: int = 5, weight_init: FillerLike | None = None,
              bias_init: FillerLike | None = None, WeightInitializer: InitializerLike | None = None,
              BiasInitializer: InitializerLike | None = None, **kwargs: Any) -> BlobReference:
    """Y = (X V) U^T + b, a layer with weights of low rank.

    Args:
      blob_in: X [N, dim_in].
      blob_out: Y [N, dim_out]; parameters <blob_out>_u [dim_out, rank_approx], _v [dim_in,
        rank_approx] and _b [dim_out].
      weight_init, WeightInitializer: for both u and v, as in fc.
    """
    blob_out = blob_out or model.net.NextName()
    default: FillerLike = ("XavierFill", {})
    u, v = (
        add_param(model, f"{blob_out}_{name}", [rows, rank_approx], weight_init, default,
                  ParameterTags.WEIGHT, WeightInitializer)
        for name, rows in (("u", dim_out), ("v", dim_in)))
    b = add_param(model, blob_out + "_b", [dim_out], bias_init, ("ConstantFill", {}),
                  ParameterTags.BIAS, BiasInitializer)
    return model.net.FC([model.net.MatMul([blob_in, v], blob_out + "_xv"), u, b], blob_out,
                        **kwargs)


def fc_prune(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
             dim_out: int, weight_init: FillerLike | None = None,
             bias_init: FillerLike | None = None, mask_init: FillerLike | None = None,
             threshold: float = 0.00001, need_compress_rate: bool = False, comp_lb: float = 0.05,
             **kwargs: Any) -> Any:
    """fc with the operator FC_Prune, which sets small weights to zero while it trains.

    Further state: <blob_out>_mask, _ag_dw and _mask_seq, with the shape of the weights, [dim_out,
    dim_in]. With need_compress_rate returns the list [Y, compression rate].
    """
    blob_out = blob_out or model.net.NextName()
    shape, zeros = [dim_out, dim_in], ("ConstantFill", {"value": 0.0})
    weight, bias = add_weight_and_bias(
        model, blob_out, shape, [dim_out], weight_init, bias_init, None, None)
    computed = ParameterTags.COMPUTED_PARAM
    mask = add_param(model, blob_out + "_m", shape, mask_init, ("ConstantFill", {"value": 1.0}),
                     computed)
    ag_dw = add_param(model, blob_out + "_ag_dw", shape, None, zeros, computed)
    mask_seq = add_param(model, blob_out + "_mask_seq", shape, None, zeros, computed)
    thres = add_param(model, blob_out + "_thres", [1], None,
                      ("ConstantFill", {"value": threshold}), computed)
    bound = add_param(model, blob_out + "_comp_lb", [1], None, ("ConstantFill", {"value": comp_lb}),
                      computed)
    kwargs["need_compress_rate"] = need_compress_rate
    outputs = [blob_out, blob_out + "_compress_rate"] if need_compress_rate else [blob_out]
    return model.net.FC_Prune(
        [blob_in, weight, mask, bias, ag_dw, mask_seq, thres, bound], outputs, **kwargs)


def fc_sparse(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, w_csr: BlobLike,
              iw: BlobLike, jw: BlobLike, bias: BlobLike, **kwargs: Any) -> BlobReference:
    """fc with weights in compressed rows (values, row starts, columns). Needs the operator
    FC_Sparse, and a model with init_params=False: the weights must exist."""
    if model.init_params:
        raise ValueError("fc_sparse needs a model with init_params=False: its weights must exist")
    return model.net.FC_Sparse([blob_in, w_csr, iw, jw, bias], blob_out or model.net.NextName(),
                               **kwargs)
