"""The union of lists of ids."""

from __future__ import annotations

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.layers import (
    IdList,
    LayerModel,
    ModelLayer,
    Record,
    get_categorical_limit,
)


class MergeIdLists(ModelLayer):
    """An IdList with the distinct ids of several IdLists in each row. All of them need a limit."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "merged") -> None:
        super().__init__(model, name, input_record)
        limits = []
        for field in input_record:
            assert schema.equal_schemas(field, IdList), f"input {field!r} must be an IdList"
            has_metadata = field.items.metadata is not None
            limit = get_categorical_limit(field) if has_metadata else None
            assert limit is not None, (
                f"input {field.items()} needs a categorical_limit in its metadata")
            limits.append(limit)
        self.output_schema = schema.NewRecord(model.net, schema.List(schema.Scalar(
            np.int64, blob=model.net.NextBlob(name),
            metadata=schema.Metadata(categorical_limit=max(limits)))))

    def add_ops(self, net: core.Net) -> None:
        """Adds the operator of the same name."""
        net.MergeIdLists(self.input_record.field_blobs(), self.output_schema.field_blobs())
