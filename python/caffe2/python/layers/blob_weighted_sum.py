"""A sum with trained weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers.layers import LayerModel, ModelLayer, Optim, Record


class BlobWeightedSum(ModelLayer):
    """The sum of at least two columns of one shape, each times a trained weight, 1 at first."""

    def __init__(self, model: LayerModel, input_record: Record,
                 init_weights: Sequence[float] | None = None, weight_optim: Optim = None,
                 name: str = "blob_weighted_sum", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        self.blobs = input_record.field_blobs()
        self.num_weights = len(self.blobs)
        assert self.num_weights > 1, (
            f"the input must have at least two columns to sum, and has {self.num_weights}")
        shapes = [dtype.shape for dtype in input_record.field_types()]
        assert len(shapes[0]) > 0, (
            f"each row of the columns {self.blobs} must be a tensor, but their type is a single "
            "number; give the Scalars a shape")
        assert all(shape == shapes[0] for shape in shapes), (
            f"all columns must have one shape, not {shapes}")
        init_weights = init_weights or [1.0] * self.num_weights
        assert len(init_weights) == self.num_weights, (
            f"there must be one weight for each of the {self.num_weights} blobs, "
            f"found {len(init_weights)}")
        self.weights = [
            self.create_param(param_name=f"w_{i}", shape=[1],
                              initializer=("ConstantFill", {"value": float(weight)}),
                              optimizer=weight_optim)
            for i, weight in enumerate(init_weights)]
        self.output_schema = schema.Scalar(
            input_record.field_types()[0], self.get_next_blob_reference("blob_weighted_sum_out"))

    def add_ops(self, net: core.Net) -> None:
        """Adds WeightedSum."""
        net.WeightedSum([blob for pair in zip(self.blobs, self.weights) for blob in pair],
                        self.output_schema(), grad_on_w=True)
