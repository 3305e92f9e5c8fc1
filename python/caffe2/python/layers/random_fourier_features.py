"""Random features of the Gaussian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_shape
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Record


class RandomFourierFeatures(ModelLayer):
    """sqrt(2 / output_dims) cos(x w^T + b) with random w and b: float [output_dims] (Rahimi and
    Recht, "Random features for large-scale kernel machines", 2007)."""

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int, sigma: float,
                 w_init: Initializer | None = None, b_init: Initializer | None = None,
                 name: str = "random_fourier_features", **kwargs: Any) -> None:
        """
        Args:
          sigma: the bandwidth of the kernel.
          w_init, b_init: initializers; default: Gaussian with deviation 1 / sigma, and uniform in
            [0, 2 pi].
        """
        super().__init__(model, name, input_record, **kwargs)
        input_dims = require_shape(input_record)[0]
        assert output_dims >= 1, f"output_dims must be at least 1, not {output_dims}"
        assert sigma > 0.0, f"sigma must be positive, not {sigma}"
        self.output_dims = output_dims
        self.output_schema = schema.Scalar(
            (np.float32, (output_dims,)), self.get_next_blob_reference("output"))
        self.w = self.create_param(
            param_name="w", shape=[output_dims, input_dims],
            initializer=w_init or ("GaussianFill", {"mean": 0.0, "std": 1.0 / sigma}),
            optimizer=model.NoOptim)
        self.b = self.create_param(
            param_name="b", shape=[output_dims],
            initializer=b_init or ("UniformFill", {"min": 0.0, "max": 2 * np.pi}),
            optimizer=model.NoOptim)

    def add_ops(self, net: core.Net) -> None:
        """Adds the features."""
        angle = net.FC(self.input_record.field_blobs() + [self.w, self.b],
                       net.NextScopedBlob("cosine_arg"))
        cosine = net.Cos([angle], net.NextScopedBlob("new_feature_vec"))
        net.Scale([cosine], self.output_schema.field_blobs(), scale=np.sqrt(2.0 / self.output_dims))
