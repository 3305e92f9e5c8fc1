"""Joining columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


def get_concatenated_feature_to_index(blobs_to_concat: Iterable[schema.Scalar]
                                      ) -> dict[str, list[int]] | None:
    """{feature: its places in the concatenation} of the Scalars whose FeatureSpec has
    feature_to_index; None if no Scalar has one."""
    joined: dict[str, list[int]] = defaultdict(list)
    start = 0
    for scalar in blobs_to_concat:
        specs = getattr(scalar.metadata, "feature_specs", None)
        places = getattr(specs, "feature_to_index", None)
        if isinstance(places, dict):
            for feature, indices in places.items():
                joined[feature].extend(start + index for index in indices)
        start += scalar.field_type().shape[0]
    return dict(joined) or None


class Concat(ModelLayer):
    """The concatenation of the Scalars of a Struct along an axis (0: the rows), float.

    With `add_axis` 1 along a new dimension at `axis`: three Scalars of [64] elements become one of
    [192], or with ``axis=1, add_axis=1`` of [3, 64].
    """

    def __init__(self, model: LayerModel, input_record: Record, axis: int = 1, add_axis: int = 0,
                 name: str = "concat", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        self.axis = axis
        self.add_axis = add_axis
        assert not (axis == 0 and add_axis == 1), (
            "axis is 0, the rows, where add_axis adds no dimension: give an axis of at least 1")
        assert isinstance(input_record, schema.Struct), (
            f"the input must be a Struct, found {input_record!r}")
        shapes = [self._element_shape(name, field) for name, field in input_record.get_children()]
        if axis == 0:
            self.output_schema = schema.from_blob_list(
                input_record[0], [self.get_next_blob_reference("output")])
            return
        output_dims = list(shapes[0])
        output_dims[axis - 1] = sum(shape[axis - 1] for shape in shapes)
        for shape in shapes:
            others = [list(dims) for dims in (shape, shapes[0])]
            for dims in others:
                del dims[axis - 1]
            assert others[0] == others[1], (
                f"columns of the shapes {shape} and {shapes[0]} differ in more than axis {axis}")
        self.output_schema = schema.Scalar(
            (np.float32, output_dims), self.get_next_blob_reference("output"))
        places = get_concatenated_feature_to_index(input_record.all_scalars())
        if places:
            self.output_schema.set_metadata(schema.Metadata(
                feature_specs=schema.FeatureSpec(feature_to_index=places)))

    def _element_shape(self, name, field):
        assert isinstance(field, schema.Scalar), (
            f"column {name} must be a Scalar, found {field!r}")
        shape = list(field.field_type().shape)
        if self.add_axis:
            shape.insert(self.axis - 1, 1)
        assert len(shape) >= self.axis, (
            f"column {name} has no axis {self.axis}: the shape of a row is {shape}")
        return shape

    def add_ops(self, net: core.Net) -> None:
        """Adds Concat."""
        output = self.output_schema()
        net.Concat(self.input_record.field_blobs(), [output, output + "_concat_dims"],
                   axis=self.axis, add_axis=self.add_axis)
