"""The Huber loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import label_as_prediction, require_fields, weighted
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.layers.tags import Tags


class BatchHuberLoss(ModelLayer):
    """The mean over rows of d^2 / 2 where d = |prediction - label| is at most delta, else of
    delta (d - delta / 2), times `weight` if there is one: a float."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "batch_huber_loss",
                 delta: float = 1.0, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert delta > 0, f"delta must be above 0, not {delta}"
        self._delta = delta
        require_fields(input_record, label=schema.Scalar(), prediction=schema.Scalar())
        self.tags.add(Tags.EXCLUDE_FROM_PREDICTION)
        self.output_schema = schema.Scalar(np.float32, self.get_next_blob_reference("output"))

    def add_ops(self, net: core.Net) -> None:
        """Adds min(d, delta)^2 / 2 + delta (d - min(d, delta)), and its mean."""
        prediction = net.Squeeze(self.input_record.prediction(),
                                 net.NextScopedBlob("squeezed_prediction"), dims=[1])
        label = label_as_prediction(net, self.input_record)
        delta = net.ConstantFill(label, net.NextScopedBlob("delta"), value=self._delta,
                                 dtype=core.DataType.FLOAT)
        label = net.StopGradient(label, net.NextScopedBlob("stopped_label"))
        delta = net.StopGradient(delta, net.NextScopedBlob("stopped_delta"))
        error = net.L1Distance([label, prediction], net.NextScopedBlob("abs_error"))
        near = net.Min([error, delta], net.NextScopedBlob("min_error_delta"))
        quadratic = net.Scale(net.Sqr(near), scale=0.5)
        linear = net.Mul([net.Sub([error, near]), delta], net.NextScopedBlob("huber_linear_term"))
        loss = net.Add([quadratic, linear], net.NextScopedBlob("huber_dist"))
        loss = weighted(net, self.input_record, loss, "weighted_huber_distance")
        net.AveragedLoss(loss, self.output_schema.field_blobs())
