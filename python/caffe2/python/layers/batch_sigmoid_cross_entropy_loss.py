"""The cross entropy of several labels by sigmoids."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_fields
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.layers.tags import Tags


class BatchSigmoidCrossEntropyLoss(ModelLayer):
    """The mean over rows of SigmoidCrossEntropyWithLogits of `prediction` and `label`, both float
    [classes]: a float."""

    def __init__(self, model: LayerModel, input_record: Record,
                 name: str = "batch_sigmoid_cross_entropy_loss", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_fields(input_record, label=schema.Scalar(np.float32),
                       prediction=schema.Scalar(np.float32))
        shapes = [input_record[field].field_type().shape for field in ("prediction", "label")]
        assert shapes[0] == shapes[1], (
            f"prediction and label must have the same shape, not {shapes[0]} and {shapes[1]}")
        self.tags.add(Tags.EXCLUDE_FROM_PREDICTION)
        self.output_schema = schema.Scalar(
            (np.float32, ()), self.get_next_blob_reference("loss"))

    def add_ops(self, net: core.Net) -> None:
        """Adds the loss."""
        losses = net.SigmoidCrossEntropyWithLogits(
            [self.input_record.prediction(), self.input_record.label()],
            net.NextScopedBlob("sigmoid_cross_entropy"))
        net.AveragedLoss(losses, self.output_schema.field_blobs())
