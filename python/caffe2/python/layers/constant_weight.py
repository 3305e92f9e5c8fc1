"""A sum with constant weights."""

import numpy as np

from caffe2.python import schema
from caffe2.python.layers.layers import ModelLayer


class ConstantWeight(ModelLayer):
    """The sum of columns, each times a constant; by default their mean."""

    def __init__(self, model, input_record, weights=None, name="constant_weight", **kwargs):
        super().__init__(model, name, input_record, **kwargs)
        self.output_schema = schema.Scalar(
            np.float32, self.get_next_blob_reference("constant_weight"))
        self.data = input_record.field_blobs()
        self.num = len(self.data)
        assert self.num > 0, "the input has no columns"
        weights = [1.0 / self.num] * self.num if weights is None else weights
        assert len(weights) == self.num, f"{len(weights)} weights for {self.num} columns"
        self.weights = [model.add_global_constant(f"{self.name}_weight_{i}", float(weight))
                        for i, weight in enumerate(weights)]

    def add_ops(self, net):
        """Adds WeightedSum."""
        net.WeightedSum([blob for pair in zip(self.data, self.weights) for blob in pair],
                        self.output_schema())
