"""The squared error."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import label_as_prediction, require_fields, weighted
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.layers.tags import Tags


class BatchMSELoss(ModelLayer):
    """The mean over rows of half the squared distance of `prediction` [1] and `label`, times
    `weight` if there is one: a float."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "batch_mse_loss",
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_fields(input_record, label=schema.Scalar(), prediction=schema.Scalar())
        self.tags.add(Tags.EXCLUDE_FROM_PREDICTION)
        self.output_schema = schema.Scalar(np.float32, self.get_next_blob_reference("output"))

    def add_ops(self, net: core.Net) -> None:
        """Adds the loss."""
        label = net.ExpandDims(label_as_prediction(net, self.input_record), 1, dims=[1])
        label = net.StopGradient(label, net.NextScopedBlob("stopped_label"))
        distance = net.SquaredL2Distance(
            [label, self.input_record.prediction()], net.NextScopedBlob("l2"))
        loss = weighted(net, self.input_record, distance, "weighted_l2_distance")
        net.AveragedLoss(loss, self.output_schema.field_blobs())
