"""Random features of the arc cosine kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_shape
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record


class ArcCosineFeatureMap(ModelLayer):
    """H(z) z^s of z = x w^T + b with random w and b, where H is the step function: float
    [output_dims] (Cho and Saul, "Kernel methods for deep learning", 2009). With s = 0 the
    feature has no gradient; the softsign of the positive part replaces it."""

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int, s: int = 1,
                 scale: float = 1.0, weight_init: Initializer | None = None,
                 bias_init: Initializer | None = None, weight_optim: Optim = None,
                 bias_optim: Optim = None, set_weight_as_global_constant: bool = False,
                 initialize_output_schema: bool = True, name: str = "arc_cosine_feature_map",
                 **kwargs: Any) -> None:
        """
        Args:
          s: the degree, an integer of at least 0.
          scale: factor of the standard deviation sqrt(1 / inputs) of initial weights.
          weight_init, bias_init: default Gaussian, and uniform within half of that deviation.
          weight_optim, bias_optim: optimizers; None leaves the parameters as they are.
          set_weight_as_global_constant: draws the weights once, so that all init nets have the
            same.
          initialize_output_schema: False for subclasses with other outputs.
        """
        super().__init__(model, name, input_record, **kwargs)
        self.input_dims = require_shape(input_record)[0]
        self.set_weight_as_global_constant = set_weight_as_global_constant
        self.output_dims = output_dims
        self.s = s
        assert output_dims >= 1, f"output_dims must be at least 1, not {output_dims}"
        assert isinstance(s, int) and s >= 0, f"s must be an integer of at least 0, not {s!r}"
        assert scale > 0.0, f"scale must be positive, not {scale}"
        if initialize_output_schema:
            self.output_schema = schema.Scalar(
                (np.float32, (output_dims,)), model.net.NextScopedBlob(name + "_output"))
        self.stddev = scale * np.sqrt(1.0 / self.input_dims)
        if set_weight_as_global_constant:
            self.random_w, self.random_b = self._add_constants()
        else:
            self.random_w, self.random_b = self._initialize_params(
                "random_w", "random_b", w_init=weight_init, b_init=bias_init, w_optim=weight_optim,
                b_optim=bias_optim)

    def _add_constants(self):
        w = np.random.normal(scale=self.stddev, size=(self.output_dims, self.input_dims))
        b = np.random.uniform(-0.5 * self.stddev, 0.5 * self.stddev, size=self.output_dims)
        return [self.model.add_global_constant(name=f"{self.name}_fixed_rand_{suffix}", array=array)
                for suffix, array in (("W", w), ("b", b))]

    def _initialize_params(self, w_name, b_name, w_init=None, b_init=None, w_optim=None,
                           b_optim=None):
        """Makes parameters [outputs, inputs] and [outputs]; without optimizers they do not
        change."""
        w = self.create_param(
            param_name=w_name, shape=[self.output_dims, self.input_dims],
            initializer=w_init or ("GaussianFill", {"mean": 0.0, "std": self.stddev}),
            optimizer=w_optim or self.model.NoOptim)
        b = self.create_param(
            param_name=b_name, shape=[self.output_dims],
            initializer=b_init or (
                "UniformFill", {"min": -0.5 * self.stddev, "max": 0.5 * self.stddev}),
            optimizer=b_optim or self.model.NoOptim)
        return w, b

    def _heaviside_with_power(self, net, input_features, output_blob, s):
        if s == 0:
            return net.Relu(net.Softsign([input_features], net.NextScopedBlob("softsign")),
                            output_blob)
        if s == 1:
            return net.Relu([input_features], output_blob)
        positive = net.Relu([input_features], net.NextScopedBlob("relu_rand"))
        power = net.Pow([input_features], net.NextScopedBlob("pow_rand"), exponent=float(s - 1))
        return net.Mul([positive, power], output_blob)

    def _random_features(self, net, record):
        return net.FC(record.field_blobs() + [self.random_w, self.random_b],
                      net.NextScopedBlob("random_features"))

    def add_ops(self, net: core.Net) -> None:
        """Adds the features."""
        features = self._random_features(net, self.input_record)
        self._heaviside_with_power(net, features, self.output_schema.field_blobs(), self.s)
