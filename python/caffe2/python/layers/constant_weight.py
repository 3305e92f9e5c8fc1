"""A sum with constant weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class ConstantWeight(ModelLayer):
    """The sum of columns, each times a constant; by default their mean."""

    def __init__(self, model: LayerModel, input_record: Record,
                 weights: Sequence[float] | None = None, name: str = "constant_weight",
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        self.output_schema = schema.Scalar(
            np.float32, self.get_next_blob_reference("constant_weight"))
        self.data = input_record.field_blobs()
        self.num = len(self.data)
        assert self.num > 0, "the input must have at least one column to sum, and has none"
        weights = [1.0 / self.num] * self.num if weights is None else weights
        assert len(weights) == self.num, (
            f"there must be one weight for each of the {self.num} columns, found {len(weights)}")
        self.weights = [model.add_global_constant(f"{self.name}_weight_{i}", float(weight))
                        for i, weight in enumerate(weights)]

    def add_ops(self, net: core.Net) -> None:
        """Adds WeightedSum."""
        net.WeightedSum([blob for pair in zip(self.data, self.weights) for blob in pair],
                        self.output_schema())
