"""Normalizations and softmax."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.helpers._shared import add_param
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import InitializerLike
from caffe2.python.modeling.parameter_info import ParameterTags


def _param(model, name, shape, value, tags, initializer=None):
    return add_param(model, name, shape, None, ("ConstantFill", {"value": value}), tags,
                     initializer)


def lrn(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, order: str = "NCHW",
        use_cudnn: bool = False, **kwargs: Any) -> BlobReference:
    """Local response normalization over channels: size, alpha, beta, bias."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
        outputs = [blob_out]
    else:
        outputs = [blob_out, f"_{blob_out}_scale"]
    result = model.net.LRN(blob_in, outputs, order=order, **kwargs)
    return result if use_cudnn else result[0]


def softmax(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike | None = None,
            use_cudnn: bool = False, **kwargs: Any) -> BlobReference:
    """Softmax over all dimensions from `axis` (default 1) on."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
    return model.net.Softmax(blob_in, blob_out, **kwargs)


def instance_norm(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
                  order: str = "NCHW", **kwargs: Any) -> BlobReference:
    """Normalizes each channel of each image; parameters <blob_out>_s and _b [dim_in]."""
    blob_out = blob_out or model.net.NextName()
    scale = _param(model, blob_out + "_s", [dim_in], 1.0, ParameterTags.WEIGHT)
    bias = _param(model, blob_out + "_b", [dim_in], 0.0, ParameterTags.BIAS)
    inputs = [blob_in, scale, bias]
    if kwargs.get("is_test", False):
        return model.net.InstanceNorm(inputs, blob_out, order=order, **kwargs)
    outputs = [blob_out, blob_out + "_sm", blob_out + "_siv"]
    return model.net.InstanceNorm(inputs, outputs, order=order, **kwargs)[0]


def spatial_bn(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
               init_scale: float = 1.0, init_bias: float = 0.0,
               ScaleInitializer: InitializerLike | None = None,
               BiasInitializer: InitializerLike | None = None,
               RunningMeanInitializer: InitializerLike | None = None,
               RunningVarianceInitializer: InitializerLike | None = None, order: str = "NCHW",
               **kwargs: Any) -> BlobReference:
    """Normalizes each channel over the batch.

    Parameters, each [dim_in]: <blob_out>_s and _b, and the running mean _rm and variance _riv,
    which training updates (with `momentum`) and is_test=True reads.
    """
    blob_out = blob_out or model.net.NextName()
    computed = ParameterTags.COMPUTED_PARAM
    scale = _param(model, blob_out + "_s", [dim_in], init_scale, ParameterTags.WEIGHT,
                   ScaleInitializer)
    bias = _param(model, blob_out + "_b", [dim_in], init_bias, ParameterTags.BIAS, BiasInitializer)
    mean = _param(model, blob_out + "_rm", [dim_in], 0.0, computed, RunningMeanInitializer)
    variance = _param(model, blob_out + "_riv", [dim_in], 1.0, computed, RunningVarianceInitializer)
    inputs = [blob_in, scale, bias, mean, variance]
    if kwargs.get("is_test", False):
        return model.net.SpatialBN(inputs, [blob_out], order=order, **kwargs)
    outputs = [blob_out, mean, variance, blob_out + "_sm", blob_out + "_siv"]
    return model.net.SpatialBN(inputs, outputs, order=order, **kwargs)[0]


def spatial_gn(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
               init_scale: float = 1.0, init_bias: float = 0.0,
               ScaleInitializer: InitializerLike | None = None,
               BiasInitializer: InitializerLike | None = None,
               RunningMeanInitializer: InitializerLike | None = None,
               RunningVarianceInitializer: InitializerLike | None = None, order: str = "NCHW",
               **kwargs: Any) -> BlobReference:
    """Normalizes groups of `dim_in` / `group` channels of each image (Wu and He, 2018).

    Parameters <blob_out>_s and _b [dim_in]. There are no running moments; as in Caffe2, their
    initializers are accepted and ignored.
    """
    if dim_in % kwargs.get("group", 32):
        raise ValueError(f"{dim_in} channels do not divide into {kwargs.get('group', 32)} groups")
    blob_out = blob_out or model.net.NextName()
    scale = _param(model, blob_out + "_s", [dim_in], init_scale, ParameterTags.WEIGHT,
                   ScaleInitializer)
    bias = _param(model, blob_out + "_b", [dim_in], init_bias, ParameterTags.BIAS, BiasInitializer)
    outputs = [blob_out, blob_out + "_mean", blob_out + "_std"]
    return model.net.GroupNorm([blob_in, scale, bias], outputs, order=order, **kwargs)[0]


def moments_with_running_stats(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None,
                               dim_in: int, RunningMeanInitializer: InitializerLike | None = None,
                               RunningVarianceInitializer: InitializerLike | None = None,
                               order: str = "NCHW",
                               **kwargs: Any) -> tuple[BlobReference, BlobReference]:
    """The mean and variance of each channel of a batch of images: <blob_out>_sm and _sv [dim_in].

    Makes the computed parameters <blob_out>_rm and _riv [dim_in] too, for running values that the
    caller updates.
    """
    if order not in ("NCHW", "NHWC"):
        raise ValueError(f"order must be NCHW or NHWC, not {order!r}")
    blob_out = blob_out or model.net.NextName()
    computed = ParameterTags.COMPUTED_PARAM
    _param(model, blob_out + "_rm", [dim_in], 0.0, computed, RunningMeanInitializer)
    _param(model, blob_out + "_riv", [dim_in], 1.0, computed, RunningVarianceInitializer)
    axes = [0, 2, 3] if order == "NCHW" else [0, 1, 2]
    return model.net.Moments([blob_in], [blob_out + "_sm", blob_out + "_sv"], axes=axes,
                             keepdims=False, **kwargs)


def layer_norm(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike, dim_in: int,
               axis: int = 1, epsilon: float = 1e-4, initial_scale: float = 1.0,
               initial_bias: float = 0.0) -> BlobReference:
    """Normalizes over the dimensions from `axis` on, then scales and shifts by <blob_out>_scale and
    <blob_out>_bias [dim_in]."""
    normalized, _, _ = model.net.LayerNorm(
        blob_in, [blob_out, blob_out + "_mean", blob_out + "_std"], axis=axis, epsilon=epsilon)
    scale = _param(model, f"{blob_out}_scale", [dim_in], initial_scale, ParameterTags.WEIGHT)
    bias = _param(model, f"{blob_out}_bias", [dim_in], initial_bias, ParameterTags.BIAS)
    scaled = model.net.Mul([normalized, scale], [f"{blob_out}_scaled"],
                           broadcast=1, axis=axis)
    return model.net.Add([scaled, bias], [f"{blob_out}_biased"], broadcast=1, axis=axis)
