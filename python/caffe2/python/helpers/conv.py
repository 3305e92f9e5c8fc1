"""Convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, SupportsIndex

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.helpers._shared import add_weight_and_bias
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import FillerLike, InitializerLike


def _engine_arguments(use_cudnn, cudnn_exhaustive_search, ws_nbytes_limit, kwargs):
    engine = kwargs.get("engine")
    if engine is not None and bool(use_cudnn) != (engine == "CUDNN"):
        raise ValueError(f"use_cudnn={use_cudnn} contradicts the engine {engine!r}")
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
        kwargs["exhaustive_search"] = cudnn_exhaustive_search
        if ws_nbytes_limit:
            kwargs["ws_nbytes_limit"] = ws_nbytes_limit


def _conv(model, is_nd, blob_in, blob_out, dim_in, dim_out, kernel, weight_init=None,
          bias_init=None, WeightInitializer=None, BiasInitializer=None, group=1,
          transform_inputs=None, use_cudnn=False, order="NCHW", cudnn_exhaustive_search=False,
          ws_nbytes_limit=None, no_bias=False, **kwargs):
    blob_out = blob_out or model.net.NextName()
    kernels = list(kernel) if isinstance(kernel, (list, tuple)) else [kernel] * 2
    if not all(isinstance(side, SupportsIndex) for side in kernels):
        raise ValueError(f"conv: kernel is {kernel!r}, must be an integer or a list of integers")
    if not is_nd and len(kernels) != 2:
        raise ValueError(f"conv needs a kernel of two dimensions, not {kernel}; see conv_nd")
    if dim_in % group or dim_out % group:
        raise ValueError(f"{group} groups do not divide {dim_in} and {dim_out} channels")
    if order == "NCHW":
        weight_shape = [dim_out, dim_in // group, *kernels]
    else:
        weight_shape = [dim_out, *kernels, dim_in // group]
    parameters = add_weight_and_bias(
        model, blob_out, weight_shape, [dim_out], weight_init, bias_init, WeightInitializer,
        BiasInitializer, use_bias=not no_bias)
    inputs = [blob_in, *parameters]
    if transform_inputs is not None:
        transform_inputs(model, blob_out, inputs)
    _engine_arguments(use_cudnn, cudnn_exhaustive_search, ws_nbytes_limit, kwargs)
    if is_nd:
        kwargs["kernels"] = kernels
    elif kernels[0] == kernels[1]:
        kwargs["kernel"] = kernels[0]
    else:
        kwargs["kernel_h"], kwargs["kernel_w"] = kernels
    if group != 1:
        kwargs["group"] = group
    return model.net.Conv(inputs, blob_out, order=order, **kwargs)


def conv(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
         dim_out: int, kernel: int | Sequence[int], weight_init: FillerLike | None = None,
         bias_init: FillerLike | None = None, WeightInitializer: InitializerLike | None = None,
         BiasInitializer: InitializerLike | None = None, group: int = 1,
         transform_inputs: BlobsLike | None = None, **kwargs: Any) -> BlobReference:
    """Two-dimensional convolution.

    Args:
      blob_in: X [N, dim_in, H, W], or [N, H, W, dim_in] for order="NHWC".
      kernel: its height and width in pixels: an int, or [height, width].
      no_bias: True for a layer without bias.
      **kwargs: stride, pad, dilation and further arguments of the operator Conv.

    Parameters: <blob_out>_w [dim_out, dim_in / group, kh, kw] (NHWC: channels last), <blob_out>_b.
    Raises ValueError if the groups do not divide the channels, or if use_cudnn and engine
    contradict each other.
    """
    return _conv(model, False, blob_in, blob_out, dim_in, dim_out, kernel, weight_init, bias_init,
                 WeightInitializer, BiasInitializer, group, transform_inputs, **kwargs)


def conv_nd(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
            dim_out: int, kernel: int | Sequence[int], weight_init: FillerLike | None = None,
            bias_init: FillerLike | None = None, WeightInitializer: InitializerLike | None = None,
            BiasInitializer: InitializerLike | None = None, group: int = 1,
            transform_inputs: BlobsLike | None = None, order: str = "NCHW",
            **kwargs: Any) -> BlobReference:
    """Convolution over any number of spatial dimensions: `kernel` is a list with one size each."""
    return _conv(model, True, blob_in, blob_out, dim_in, dim_out, kernel, weight_init, bias_init,
                 WeightInitializer, BiasInitializer, group, transform_inputs, order=order, **kwargs)


def group_conv(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
               dim_out: int, kernel: int | Sequence[int], weight_init: FillerLike | None = None,
               bias_init: FillerLike | None = None, group: int = 1, **kwargs: Any) -> BlobReference:
    """conv with groups: channels are split, and each part has filters of its own."""
    return conv(model, blob_in, blob_out, dim_in, dim_out, kernel, weight_init, bias_init,
                group=group, **kwargs)


def group_conv_deprecated(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike,
                          dim_in: int, dim_out: int, kernel: int | Sequence[int],
                          weight_init: FillerLike | None = None,
                          bias_init: FillerLike | None = None, group: int = 1,
                          use_cudnn: bool = False, order: str = "NCHW",
                          cudnn_exhaustive_search: bool = False, ws_nbytes_limit: int | None = None,
                          **kwargs: Any) -> BlobReference:
    """group_conv as one conv for each group, with parameters <blob_out>_gconv_<i>_w and _b, as
    older models have them."""
    if dim_in % group or dim_out % group:
        raise ValueError(f"{group} groups do not divide {dim_in} and {dim_out} channels")
    parts = model.net.DepthSplit(
        blob_in, [f"_{blob_out}_gconv_split_{i}" for i in range(group)],
        dimensions=[dim_in // group] * group, order=order) if group > 1 else [blob_in]
    outputs = [
        _conv(model, False, part, f"{blob_out}_gconv_{i}", dim_in // group, dim_out // group,
              kernel, weight_init, bias_init, use_cudnn=use_cudnn, order=order,
              cudnn_exhaustive_search=cudnn_exhaustive_search, ws_nbytes_limit=ws_nbytes_limit,
              **kwargs)
        for i, part in enumerate(parts)]
    return model.net.Concat(outputs, [blob_out, f"_{blob_out}_concat_dims"], order=order)[0]


def conv_transpose(model: ModelHelper, blob_in: BlobLike, blob_out: BlobLike | None, dim_in: int,
                   dim_out: int, kernel: int, weight_init: FillerLike | None = None,
                   bias_init: FillerLike | None = None, use_cudnn: bool = False,
                   order: str = "NCHW", cudnn_exhaustive_search: bool = False,
                   ws_nbytes_limit: int | None = None, **kwargs: Any) -> BlobReference:
    """Transposed two-dimensional convolution; W is [dim_in, dim_out, kernel, kernel] (NCHW) or
    [dim_in, kernel, kernel, dim_out]."""
    blob_out = blob_out or model.net.NextName()
    window = [kernel, kernel]
    shape = [dim_in, dim_out, *window] if order == "NCHW" else [dim_in, *window, dim_out]
    parameters = add_weight_and_bias(
        model, blob_out, shape, [dim_out], weight_init, bias_init, None, None)
    _engine_arguments(use_cudnn, cudnn_exhaustive_search, ws_nbytes_limit, kwargs)
    return model.net.ConvTranspose(
        [blob_in, *parameters], blob_out, kernel=kernel, order=order, **kwargs)
