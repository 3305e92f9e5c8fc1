"""Layers: functions of a ModelHelper that add operators and parameters to it.

``brew.conv(model, "data", "conv1", 3, 64, kernel=7)``. Each takes the model first, then input and
output blobs. Arguments of model.arg_scope and of brew.arg_scope are passed to the helpers that take
them. A helper that raises an exception leaves the model as it was.
"""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from caffe2.python._core.layer_checks import check_layer
from caffe2.python._core.operator_suggestions import operator_elsewhere, plain_name
from caffe2.python.helpers.algebra import (
    arg_min,
    batch_mat_mul,
    mat_mul,
    reduce_sum,
    sparse_lengths_sum_4bit_rowwise_sparse,
    sub,
    sum,
    transpose,
)
from caffe2.python.helpers.arg_scope import arg_scope, get_current_scope
from caffe2.python.helpers.array_helpers import concat, depth_concat
from caffe2.python.helpers.control_ops import cond, loop
from caffe2.python.helpers.conv import (
    conv,
    conv_nd,
    conv_transpose,
    group_conv,
    group_conv_deprecated,
)
from caffe2.python.helpers.db_input import db_input
from caffe2.python.helpers.dropout import dropout
from caffe2.python.helpers.elementwise_linear import elementwise_linear
from caffe2.python.helpers.fc import fc
from caffe2.python.helpers.fc_variants import fc_decomp, fc_prune, fc_sparse, packed_fc
from caffe2.python.helpers.nonlinearity import prelu, relu, tanh
from caffe2.python.helpers.normalization import (
    instance_norm,
    layer_norm,
    lrn,
    moments_with_running_stats,
    softmax,
    spatial_bn,
    spatial_gn,
)
from caffe2.python.helpers.pooling import average_pool, max_pool, max_pool_with_index
from caffe2.python.helpers.quantization import fused_8bit_rowwise_quantized_to_float
from caffe2.python.helpers.tools import image_input, video_input
from caffe2.python.helpers.train import accuracy, add_weight_decay, iter
from caffe2.python.model_helper import ModelHelper

__all__ = [
    "HelperWrapper", "Register", "arg_scope", "get_current_scope", "has_helper",
    # The helpers.
    "accuracy", "add_weight_decay", "arg_min", "average_pool", "batch_mat_mul", "concat",
    "cond", "conv", "conv_nd", "conv_transpose", "db_input", "depth_concat", "dropout",
    "elementwise_linear", "fc", "fc_decomp", "fc_prune", "fc_sparse",
    "fused_8bit_rowwise_quantized_to_float", "group_conv", "group_conv_deprecated",
    "image_input", "instance_norm", "iter", "layer_norm", "loop", "lrn", "mat_mul", "max_pool",
    "max_pool_with_index", "moments_with_running_stats", "packed_fc", "prelu", "reduce_sum",
    "relu", "softmax", "sparse_lengths_sum_4bit_rowwise_sparse", "spatial_bn", "spatial_gn",
    "sub", "sum", "tanh", "transpose", "video_input",
]

_registry: dict = {}


def _model_of(args, kwargs):
    model = args[0] if args else kwargs.get("model")
    if not isinstance(model, ModelHelper):
        raise RuntimeError(
            "a helper needs the model as its first argument, or as model=...")
    return model


def Register(helper: Callable[..., Any]) -> Callable[..., Any]:
    """Makes a function a helper, under its own name; returns it wrapped.

    Raises AttributeError if there is one of this name.
    """
    name = helper.__name__
    if name in _registry:
        raise AttributeError(f"Helper {name} already exists. Please change your helper name.")
    parameters = inspect.signature(helper).parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    @functools.wraps(helper)
    def call(*args, **kwargs):
        model = _model_of(args, kwargs)
        scoped = model.arg_scope
        if not takes_any:
            scoped = {key: value for key, value in scoped.items() if key in parameters}
        named = {**scoped, **get_current_scope().get(name, {}), **kwargs}
        check_layer(name, {**named, **dict(zip(parameters, args))})
        with model._undone_if_refused():
            return helper(*args, **named)

    _registry[name] = call
    globals()[name] = call
    return call


def _unknown_helper(name):
    """An AttributeError that names the helpers most like `name`."""
    operator = plain_name(operator_elsewhere(name))
    close = [helper for helper in _registry if operator and plain_name(helper) == operator]
    close = close or difflib.get_close_matches(name, _registry, n=3)
    close += [helper for helper in _registry
              if helper not in close and (helper in name or name in helper)][:3 - len(close)]
    hint = f" Did you mean: {', '.join(close)}?" if close else ""
    return AttributeError(f"Helper function {name} not registered.{hint}")


if not TYPE_CHECKING:  # type checkers would take any name for a helper
    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise _unknown_helper(name)


def has_helper(helper_or_name: Any) -> bool:
    """True if there is a helper of this name, or of the name of this function."""
    return getattr(helper_or_name, "__name__", helper_or_name) in _registry


class HelperWrapper:
    """The helpers of this module as attributes of an object, which brew is in Caffe2.

    Args:
      wrapped: the module that the object stands for; kept as an attribute.
    """

    def __init__(self, wrapped: Any) -> None:
        self.wrapped = wrapped

    def __getattr__(self, helper_name: str) -> Callable[..., Any]:
        if helper_name in _registry or helper_name in __all__:
            return globals()[helper_name]
        raise _unknown_helper(helper_name)


for _helper in (
    accuracy, add_weight_decay, arg_min, average_pool, batch_mat_mul, concat, cond, conv, conv_nd,
    conv_transpose, db_input, depth_concat, dropout, elementwise_linear, fc, fc_decomp, fc_prune,
    fc_sparse, fused_8bit_rowwise_quantized_to_float, group_conv, group_conv_deprecated,
    image_input, instance_norm, iter, layer_norm, loop, lrn, mat_mul, max_pool, max_pool_with_index,
    moments_with_running_stats, packed_fc, prelu, reduce_sum, relu, softmax,
    sparse_lengths_sum_4bit_rowwise_sparse, spatial_bn, spatial_gn, sub, sum, tanh, transpose,
    video_input,
):
    Register(_helper)
