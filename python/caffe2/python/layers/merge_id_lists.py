"""The union of lists of ids."""

import numpy as np

from caffe2.python import schema
from caffe2.python.layers.layers import IdList, ModelLayer, get_categorical_limit


class MergeIdLists(ModelLayer):
    """An IdList of the distinct ids of several, in each row; all of them have a limit."""

    def __init__(self, model, input_record, name="merged"):
        super().__init__(model, name, input_record)
        assert all(schema.equal_schemas(field, IdList) for field in input_record), (
            "Inputs to MergeIdLists should all be IdLists.")
        assert all(field.items.metadata is not None for field in input_record), (
            "Features without metadata are not supported")
        limits = [get_categorical_limit(field) for field in input_record]
        assert None not in limits, "Unbounded features are not supported"
        self.output_schema = schema.NewRecord(model.net, schema.List(schema.Scalar(
            np.int64, blob=model.net.NextBlob(name),
            metadata=schema.Metadata(categorical_limit=max(limits)))))

    def add_ops(self, net):
        """Adds the operator of the same name."""
        net.MergeIdLists(self.input_record.field_blobs(), self.output_schema.field_blobs())
