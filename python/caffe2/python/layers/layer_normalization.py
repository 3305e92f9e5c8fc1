"""Layer normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.batch_normalization import scale_and_bias
from caffe2.python.layers.layers import LayerModel, ModelLayer, Optim, Record


class LayerNormalization(ModelLayer):
    """Normalizes each row over the dimensions from `axis` on, then scales and shifts it by
    parameters with the size of the first element dimension.

    Uses the operator LayerNorm, or without `use_layer_norm_op` elementary operators, which take
    rows of the shape [inputs] only.
    """

    def __init__(self, model: LayerModel, input_record: Record, name: str = "layer_normalization",
                 scale_optim: Optim = None, bias_optim: Optim = None, epsilon: float = 1e-4,
                 axis: int = 1, use_layer_norm_op: bool = True, scale_init_value: float = 1.0,
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_scalar(input_record)
        self.input_shape = input_record.field_type().shape
        self.axis = axis
        assert len(self.input_shape) >= 1, (
            f"each row of the input {input_record()} must be a tensor, but its type "
            f"{input_record.field_type()} is a single number; give the Scalar a shape")
        self.output_schema = schema.Scalar(
            (np.float32, self.input_shape), self.get_next_blob_reference("output"))
        self.scale, self.bias = scale_and_bias(
            self, self.input_shape[0], scale_init_value, scale_optim, bias_optim)
        self.use_layer_norm_op = use_layer_norm_op
        if use_layer_norm_op:
            self.epsilon: Any = epsilon  # a number, or else a blob
        else:
            assert len(self.input_shape) == 1, (
                "without use_layer_norm_op a row must have one dimension, not the shape "
                f"{self.input_shape}")
            self.epsilon = model.maybe_add_global_constant(self.name + "_epsilon", float(epsilon))

    def add_ops_with_layer_norm_op(self, net: core.Net) -> None:
        """Adds LayerNorm, scale and bias."""
        normalized, _, _ = net.LayerNorm(
            self.input_record.field_blobs(),
            [net.NextScopedBlob(name) for name in ("ln_output", "ln_mean", "ln_stdev")],
            axis=self.axis, epsilon=self.epsilon)
        scaled = net.Mul([normalized, self.scale], [net.NextScopedBlob("ln_scaled")], broadcast=1,
                         axis=self.axis)
        net.Add([scaled, self.bias], self.output_schema.field_blobs(), broadcast=1, axis=self.axis)

    def add_ops_without_layer_norm_op(self, net: core.Net) -> None:
        """Adds elementary operators, which broadcast as numpy does."""
        x = self.input_record()
        blob = net.NextScopedBlob
        normalized, mean, deviation = blob("ln_output"), blob("ln_mean"), blob("ln_stdev")
        net.ExpandDims([net.ReduceBackMean([x], [blob("ln_mean_arr")])], [mean], dims=[1])
        centered = net.Sub([x, mean], [blob("ln_centered")])
        squares = net.Sqr([centered], [blob("ln_sqr")])
        mean_square = net.ReduceBackMean([squares], [blob("ln_sqr_mean")])
        variance = net.Add([mean_square, self.epsilon], blob("ln_var"))
        root = net.Pow([variance], [blob("ln_std_arr")], exponent=0.5)
        net.ExpandDims([root], [deviation], dims=[1])
        net.Div([centered, deviation], [normalized])
        scaled = net.Mul([normalized, self.scale], [blob("ln_scaled")])
        net.Add([scaled, self.bias], self.output_schema.field_blobs())

    def add_ops(self, net: core.Net) -> None:
        """Adds the normalization."""
        if self.use_layer_norm_op:
            self.add_ops_with_layer_norm_op(net)
        else:
            self.add_ops_without_layer_norm_op(net)
