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
        assert all(schema.equal_schemas(field, IdList) for field in input_record), (
            "Inputs to MergeIdLists should all be IdLists.")
        assert all(field.items.metadata is not None for field in input_record), (
            "Features without metadata are not supported")
        limits = [limit for limit in map(get_categorical_limit, input_record) if limit is not None]
        assert len(limits) == len(input_record), "Unbounded features are not supported"
        self.output_schema = schema.NewRecord(model.net, schema.List(schema.Scalar(
            np.int64, blob=model.net.NextBlob(name),
            metadata=schema.Metadata(categorical_limit=max(limits)))))

    def add_ops(self, net: core.Net) -> None:
        """Adds the operator of the same name."""
        net.MergeIdLists(self.input_record.field_blobs(), self.output_schema.field_blobs())
