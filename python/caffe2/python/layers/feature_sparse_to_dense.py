"""Columns of single features, of maps from feature ids to values."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers.layers import (
    AccessedFeatures,
    LayerModel,
    ModelLayer,
    Record,
)

# Feature type -> the columns of values besides the ranges.
_LIST_TYPES: dict[str, list[tuple[str, Any]]] = {
    "ID_LIST": [("values", np.int64)],
    "ID_SCORE_LIST": [("ids", np.int64), ("scores", np.float32)],
    "EMBEDDING": [("values", np.float32)],
    "GENERIC_FEATURE": [("values", np.float32)],
}


class FeatureSparseToDense(ModelLayer):
    """Turns maps from feature ids to values into columns. `input_specs` is a list of pairs (field,
    FeatureSpec); the output has for each field the features of its spec, in this order.

    For the type FLOAT: float [features]. For ID_LIST, ID_SCORE_LIST and EMBEDDING, whose values are
    lists: a Struct of `ranges`, int32 [features, 2], the offset and length of each list among all
    values, and of `values`, or `ids` and `scores`. The strings of GENERIC_FEATURE are parsed by the
    operator ParseGeneric.
    """

    def __init__(self, model: LayerModel, input_record: Record,
                 input_specs: Sequence[tuple[str, schema.FeatureSpec]],
                 name: str = "feature_sparse_to_dense", default_dense_value: float | None = None,
                 **kwargs: Any) -> None:
        """
        Args:
          default_dense_value: the value of features that a row lacks: 0.0 (default) or NaN.
        """
        super().__init__(model, name, input_record, **kwargs)
        default = float(default_dense_value or 0.0)
        assert np.isnan(default) or default == 0.0, (
            f"default_dense_value can only be 0.0 or NaN, not {default_dense_value}")
        self.input_specs = input_specs
        self.default_float_value = model.global_constants["NAN" if np.isnan(default) else "ZERO"]
        self.zero_range = model.global_constants["ZERO_RANGE"]
        self.output_schema = schema.Struct(*[
            (field, self._output(field, specs)) for field, specs in input_specs])
        for field, specs in input_specs:
            schema.attach_metadata_to_scalars(
                self.output_schema[field], schema.Metadata(feature_specs=specs))

    def _output(self, field, specs):
        count = len(specs.feature_ids)
        assert len(specs.feature_names) == count, (
            f"there must be one name for each of the {count} features of {field}, "
            f"found {len(specs.feature_names)}")

        def column(dtype, suffix):
            return schema.Scalar(dtype, self.get_next_blob_reference(f"{field}_{suffix}"))

        if specs.feature_type == "FLOAT":
            return column((np.float32, (count,)), "output")
        if specs.feature_type not in _LIST_TYPES:
            raise TypeError(f"Unsupported input type: {specs.feature_type}")
        return schema.Struct(
            ("ranges", column((np.int32, (count, 2)), "ranges")),
            *[(name, column(dtype, name)) for name, dtype in _LIST_TYPES[specs.feature_type]])

    def _parse(self, net, record, feature_type):
        """(lengths of rows, feature ids, lengths of values, value blobs) of a field of lists."""
        if feature_type == "GENERIC_FEATURE":
            lengths, ids, value_lengths, values = net.ParseGeneric(
                [record()], ["feature_lengths", "feature_ids", "value_lengths", "value_values"],
                feature_type_enum=1)
            return lengths, ids, value_lengths, [values]
        values = record.values
        return record.lengths(), record.keys(), values.lengths(), values.items.field_blobs()

    def add_ops(self, net: core.Net) -> None:
        """Adds SparseToDenseMask for each field."""
        for field, specs in self.input_specs:
            record, output = self.input_record[field], self.output_schema[field]
            if specs.feature_type == "FLOAT":
                net.SparseToDenseMask(
                    [record.keys(), record.values(), self.default_float_value, record.lengths()],
                    [output()], mask=specs.feature_ids)
                continue
            lengths, ids, value_lengths, values = self._parse(net, record, specs.feature_type)
            # No field has an output of this name: those end in _ranges.
            ranges = net.LengthsToRanges(value_lengths, net.NextScopedBlob("ranges_of_lists"))
            net.SparseToDenseMask(
                [ids, ranges, self.zero_range, lengths], output.ranges(), mask=specs.feature_ids)
            # New blobs, so that readers of the outputs do not depend on the names of the inputs.
            for (name, _), value in zip(_LIST_TYPES[specs.feature_type], values):
                net.Alias(value, output[name]())

    def get_metadata(self) -> list[tuple[dict[str, Any], list[BlobReference], list[np.dtype]]]:
        """For each field ({type, names, ids of the features}, output blobs, output types)."""
        metadata = []
        for field, specs in self.input_specs:
            features = {"type": specs.feature_type, "names": specs.feature_names,
                        "ids": specs.feature_ids}
            if specs.feature_type == "FLOAT":
                features["cardinality"] = 1
            output = self.output_schema[field]
            metadata.append((features, output.field_blobs(), output.field_types()))
        return metadata

    def get_accessed_features(self) -> dict[str, list[AccessedFeatures]]:
        """{field: list of AccessedFeatures} of the specs."""
        accessed = defaultdict(list)
        for field, specs in self.input_specs:
            accessed[field].append(AccessedFeatures(specs.feature_type, set(specs.feature_ids)))
        return accessed
