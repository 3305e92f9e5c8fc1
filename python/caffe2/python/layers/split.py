"""Splitting a column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class Split(ModelLayer):
    """A Tuple of parts of a Scalar along an axis (0: the rows): `num_splits` equal parts, or parts
    of the sizes in the list `split`."""

    def __init__(self, model: LayerModel, input_record: Record, num_splits: int = 1, axis: int = 1,
                 name: str = "split", split: Sequence[int] | None = None, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_scalar(input_record)
        self.axis = axis
        self.split = split
        shape = list(input_record.field_type().shape)
        place = axis - 1
        assert 0 <= place < len(shape), f"no axis {axis} in elements of shape {shape}"
        if split is None:
            assert shape[place] % num_splits == 0, (
                f"dimension {shape[place]} cannot be split into {num_splits} equal parts")
            sizes = [shape[place] // num_splits] * num_splits
        else:
            assert sum(split) == shape[place], (
                f"parts of {split} do not make up dimension {shape[place]}")
            sizes = list(split)
        dtype = input_record.field_type().base
        self.output_schema = schema.Tuple(*[
            schema.Scalar((dtype, tuple(shape[:place] + [size] + shape[place + 1:])),
                          self.get_next_blob_reference(f"output_{i}"))
            for i, size in enumerate(sizes)])

    def add_ops(self, net: core.Net) -> None:
        """Adds Split."""
        net.Split(self.input_record.field_blobs(), self.output_schema.field_blobs(),
                  split=self.split, axis=self.axis)
