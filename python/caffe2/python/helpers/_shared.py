"""Functions that several helpers share: to add parameters, and to choose the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling import initializers
from caffe2.python.modeling.initializers import FillerLike, InitializerLike
from caffe2.python.modeling.parameter_info import ParameterTags, Tags


def add_param(model: ModelHelper, name: BlobLike, shape: Sequence[int], init: FillerLike | None,
              default: FillerLike, tags: Tags | None = None,
              initializer: InitializerLike = None) -> BlobReference:
    """Adds a parameter that `init`, (operator type, arguments), or else `default` fills.
    `initializer`: the class of the Initializer, or an object of it; see update_initializer."""
    return model.create_param(
        param_name=name, shape=shape, tags=tags,
        initializer=initializers.update_initializer(initializer, init, default))


def add_weight_and_bias(model: ModelHelper, blob_out: BlobLike, weight_shape: Sequence[int],
                        bias_shape: Sequence[int], weight_init: FillerLike | None,
                        bias_init: FillerLike | None, WeightInitializer: InitializerLike,
                        BiasInitializer: InitializerLike, use_bias: bool = True,
                        freeze_bias: bool = False) -> list[BlobReference]:
    """Adds the parameters "<blob_out>_w" and "<blob_out>_b"; returns them as a list.

    Defaults: XavierFill and zeros. A frozen bias is not trained.
    """
    weight = add_param(model, blob_out + "_w", weight_shape, weight_init, ("XavierFill", {}),
                       ParameterTags.WEIGHT, WeightInitializer)
    if not use_bias:
        return [weight]
    computed = [ParameterTags.COMPUTED_PARAM] if freeze_bias else []
    bias = add_param(model, blob_out + "_b", bias_shape, bias_init, ("ConstantFill", {}),
                     [ParameterTags.BIAS, *computed], BiasInitializer)
    return [weight, bias]


def with_engine(use_cudnn: bool, kwargs: dict[str, Any]) -> dict[str, Any]:
    """`kwargs`, with the engine CUDNN if `use_cudnn` (operators of the CPU ignore it)."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
    return kwargs
