"""The fully connected layer."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.helpers.arg_scope import get_current_scope
from caffe2.python.layers._inputs import require_shape, uniform_filler
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record
from caffe2.python.layers.sampling_trainable_mixin import SamplingTrainableMixin
from caffe2.python.regularizer import Regularizer


def get_fc_predictor_version(fc_version: str) -> str:
    """The precision of FC in prediction, "fp32" or "fp16"; an arg_scope of this function sets
    it."""
    assert fc_version in ("fp32", "fp16"), (
        f"the precision of FC in prediction must be fp32 or fp16, not {fc_version}")
    return fc_version


def current_fc_version() -> str:
    """The precision that the arg_scope of get_fc_predictor_version sets."""
    scope = get_current_scope().get(get_fc_predictor_version.__name__, {})
    return scope.get("fc_version", "fp32")


def fc_input_dims(input_record: Record, axis: int) -> int:
    """The number of inputs of an FC over the dimensions from `axis` on (0: the rows)."""
    shape = require_shape(input_record)
    assert axis >= 1, f"axis must be at least 1 (0: the rows), not {axis}"
    input_dims = int(np.prod(shape[axis - 1:]))
    assert input_dims > 0, f"FC needs at least one input, but the shape of a row is {shape}"
    return input_dims


def clip_arguments(clip_param: tuple[float | None, float | None] | None) -> dict[str, float] | None:
    """The arguments of Clip for (min, max), either of which may be None; None for None."""
    if clip_param is None:
        return None
    assert len(clip_param) == 2, f"clip_param must be (clip_min, clip_max), not {clip_param}"
    low, high = clip_param
    assert low is not None or high is not None, (
        "clip_param must limit one side: clip_min and clip_max are both None")
    assert low is None or high is None or low < high, (
        f"clip_param must have clip_min < clip_max, not {clip_param}")
    return {name: value for name, value in (("min", low), ("max", high)) if value is not None}


def clipped(net: core.Net, params: list[BlobReference],
            arguments: dict[str, Any] | None) -> list[BlobReference]:
    """The parameters, clipped if there are arguments of Clip."""
    if arguments is None:
        return params
    return [net.Clip([param], [net.NextScopedBlob(f"clipped_{param}")], **arguments)
            for param in params]


class FC(SamplingTrainableMixin, ModelLayer):
    """y = x w^T + b, float; with `transposed` y = x w + b.

    Large matrices can be split by outputs into several parameters.
    """

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int,
                 weight_init: Initializer | None = None, bias_init: Initializer | None = None,
                 weight_optim: Optim = None, bias_optim: Optim = None, name: str = "fc",
                 weight_reg: Regularizer | None = None, bias_reg: Regularizer | None = None,
                 clip_param: tuple[float | None, float | None] | None = None,
                 max_fc_size: int | None = None, axis: int = 1, transposed: bool = False,
                 uniform_weight_init_scale_numerator: float = 1.0, **kwargs: Any) -> None:
        """
        Args:
          input_record: a Scalar.
          output_dims: the number of outputs.
          weight_init, bias_init: initializers; default uniform within sqrt(numerator / inputs).
          weight_optim, bias_optim, weight_reg, bias_reg: optimizers and regularizers.
          clip_param: (min, max), to which parameters are clipped before use.
          max_fc_size: the largest number of elements of one weight parameter.
          axis: the first dimension of the inputs (0: the rows); earlier dimensions are kept.
          transposed: whether weights have the shape [inputs, outputs].
        """
        super().__init__(model, name, input_record, **kwargs)
        input_dims = fc_input_dims(input_record, axis)
        self.axis = axis
        self.transposed = transposed
        self.clip_args = clip_arguments(clip_param)
        default_init = uniform_filler(input_dims, uniform_weight_init_scale_numerator or 1.0)
        weight_init = weight_init or default_init
        bias_init = bias_init or default_init

        def create(suffix, dims, bias_init, bias_optim, bias_reg):
            shape = [input_dims, dims] if transposed else [dims, input_dims]
            return (
                self.create_param("w" + suffix, shape, weight_init, weight_optim,
                                  regularizer=weight_reg),
                self.create_param("b" + suffix, [dims], bias_init, bias_optim,
                                  regularizer=bias_reg))

        self.output_dim_vec = FC.calculate_fc_output_dims(max_fc_size, input_dims, output_dims)
        if self._is_split():
            # As in Caffe2, the biases of parts are treated like weights.
            parts = [create(f"_sub_{i}", dims, weight_init, weight_optim, weight_reg)
                     for i, dims in enumerate(self.output_dim_vec or [])]
            self.w_vec, self.b_vec = map(list, zip(*parts))
        else:
            self.w, self.b = create("", output_dims, bias_init, bias_optim, bias_reg)
        kept = tuple(input_record.field_type().shape[:axis - 1])
        self.output_schema = schema.Scalar(
            (np.float32, kept + (output_dims,)), self.get_next_blob_reference("output"))

    def _is_split(self):
        return self.output_dim_vec is not None and len(self.output_dim_vec) > 1

    @staticmethod
    def calculate_fc_output_dims(max_fc_size: int | None, input_dim: int,
                                 output_dim: int) -> list[int] | None:
        """The outputs of each part of a matrix whose parts have at most `max_fc_size` elements;
        None without such a limit."""
        if not max_fc_size or max_fc_size < 0:
            return None
        assert max_fc_size >= input_dim, (
            "Currently we split along the output dimension. So we need max_fc_size >= input_dim. "
            f"But, max_fc_size: {max_fc_size}, input_dim: {input_dim}")
        allowed = max_fc_size // input_dim
        count = math.ceil(output_dim / allowed)
        return [allowed] * (count - 1) + [output_dim - allowed * (count - 1)]

    def _insert_fc_ops(self, net, params, outputs, version):
        if version == "fp16":
            fc = net.FbFCPacked
        elif version == "fp32":
            fc = net.FCTransposed if self.transposed else net.FC
        else:
            raise ValueError(f"unsupported FC type version {version}")
        return fc(self.input_record.field_blobs() + params, outputs, axis=self.axis, **self.kwargs)

    def _add_ops(self, net, params, version="fp32"):
        params = clipped(net, params, self.clip_args)
        output = self.output_schema.field_blobs()
        if not self._is_split():
            self._insert_fc_ops(net, params, output, version)
            return
        count = len(self.output_dim_vec)
        parts = [
            self._insert_fc_ops(net, [params[i], params[count + i]],
                                [net.NextScopedBlob(f"output_sub_{i}")], version)
            for i in range(count)]
        net.Concat(parts, output + [output[0] + "_concat_dims"])

    def add_ops(self, net: core.Net) -> None:
        """Adds the operators of prediction and evaluation."""
        self._add_ops(net, self.param_blobs, current_fc_version())

    def get_fp16_compatible_parameters(self) -> list[BlobReference]:
        """The weights."""
        return self.w_vec if self._is_split() else [self.w]

    @property
    def param_blobs(self) -> list[BlobReference]:
        """The weights, then the biases."""
        return self.w_vec + self.b_vec if self._is_split() else [self.w, self.b]
