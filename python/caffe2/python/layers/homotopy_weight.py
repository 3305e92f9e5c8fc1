"""A transition from one loss to another."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import constant_param, object_param
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class HomotopyWeight(ModelLayer):
    """alpha x + beta y of two columns. With the iterations alpha falls from `max_weight` to
    `min_weight`, half of the way after `half_life` iterations and three quarters after `quad_life`;
    beta is `max_weight` + `min_weight` - alpha."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "homotopy_weight",
                 min_weight: float = 0.0, max_weight: float = 1.0, half_life: float = 1e6,
                 quad_life: float = 3e6, atomic_iter: BlobReference | None = None,
                 **kwargs: Any) -> None:
        """
        Args:
          quad_life: more than twice half_life.
          atomic_iter: a blob that counts the iterations; default: a counter of the layer.
        """
        super().__init__(model, name, input_record, **kwargs)
        self.output_schema = schema.Scalar(
            np.float32, self.get_next_blob_reference("homotopy_weight"))
        data = input_record.field_blobs()
        assert len(data) == 2, f"HomotopyWeight is of two columns, not {len(data)}"
        self.x, self.y = data
        self.use_external_iter = atomic_iter is not None
        self.atomic_iter: BlobReference = (
            self.create_atomic_iter() if atomic_iter is None else atomic_iter)
        assert max_weight > min_weight, f"{max_weight} is not above {min_weight}"
        self.scale = float(max_weight - min_weight)
        self.offset = model.add_global_constant(f"{self.name}_offset_1dfloat", float(min_weight))
        self.gamma, self.power = self.solve_inv_lr_params(half_life, quad_life)

    def solve_inv_lr_params(self, half_life: float, quad_life: float) -> tuple[float, float]:
        """(gamma, power) of (1 + gamma i)^-power, which is 1/2 for i = half_life and near 1/4 for
        i = quad_life."""
        assert half_life > 0, f"half_life must be above 0, not {half_life}"
        assert quad_life > 2 * half_life, f"quad_life {quad_life} is not above twice {half_life}"
        # Solves (1 + gamma quad_life) = (1 + gamma half_life)^2 approximately.
        ratio = float(quad_life) / float(half_life)
        x = ratio * (1.0 + np.sqrt(2.0)) / 2.0 - np.sqrt(2.0)
        return (x - 1.0) / float(half_life), np.log(2.0) / np.log(x)

    def create_atomic_iter(self) -> BlobReference:
        """Makes the counter of iterations and its mutex; returns the counter."""
        self.mutex = object_param(self, f"{self.name}_mutex", "CreateMutex")
        self.atomic_iter = constant_param(
            self, f"{self.name}_atomic_iter", 0, core.DataType.INT64)
        return self.atomic_iter

    def update_weight(self, net: core.Net) -> tuple[BlobReference, BlobReference]:
        """Counts the iteration and adds (alpha, beta)."""
        alpha, beta, rate, rest, scaled_rate, scaled_rest = map(net.NextScopedBlob, (
            "alpha", "beta", "lr", "complementary_lr", "scaled_lr", "scaled_complementary_lr"))
        if not self.use_external_iter:
            net.AtomicIter([self.mutex, self.atomic_iter], [self.atomic_iter])
        net.LearningRate([self.atomic_iter], [rate], policy="inv", gamma=self.gamma,
                         power=self.power, base_lr=1.0)
        net.Sub([self.model.global_constants["ONE"], rate], [rest])
        net.Scale([rate], [scaled_rate], scale=self.scale)
        net.Scale([rest], [scaled_rest], scale=self.scale)
        net.Add([scaled_rate, self.offset], [alpha])
        net.Add([scaled_rest, self.offset], [beta])
        return alpha, beta

    def add_ops(self, net: core.Net) -> None:
        """Adds the weights and the sum."""
        alpha, beta = self.update_weight(net)
        net.WeightedSum([self.x, alpha, self.y, beta], self.output_schema())
