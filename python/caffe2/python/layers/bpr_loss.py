"""The loss of Bayesian personalized ranking."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import require_fields
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record
from caffe2.python.layers.tags import Tags


def repeated_positive_scores(net: core.Net, record: Record) -> BlobReference:
    """The score of the positive of each row, repeated for each of its negatives."""
    return net.LengthsTile(
        [record.pos_prediction(), record.neg_prediction["lengths"]()],
        net.NextScopedBlob("pos_score_repeated"))


class RankLossMixin:
    """Base, before ModelLayer, of losses (a float) of `pos_prediction`, a float for each row, and
    `neg_prediction`, a list of floats. It is not a ModelLayer itself, because every subclass of
    ModelLayer becomes a method of models."""

    tags: set[str]
    output_schema: Record
    get_next_blob_reference: Callable[[str], BlobReference]

    def __init__(self, model: LayerModel, name: str, input_record: Record, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)  # type: ignore[call-arg]
        require_fields(input_record, pos_prediction=schema.Scalar(),
                       neg_prediction=schema.List(np.float32))
        self.tags.add(Tags.EXCLUDE_FROM_PREDICTION)
        self.output_schema = schema.Scalar(np.float32, self.get_next_blob_reference("output"))


class BPRLoss(RankLossMixin, ModelLayer):
    """The sum of -log(sigmoid(positive - negative)) over the negatives of all rows (Rendle et al.,
    "BPR: Bayesian personalized ranking from implicit feedback", arXiv:1205.2618)."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "bpr_loss",
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)

    def add_ops(self, net: core.Net) -> None:
        """Adds the sum of softplus(negative - positive)."""
        negative = self.input_record.neg_prediction["values"]()
        positive = repeated_positive_scores(net, self.input_record)
        losses = net.Softplus([net.Sub([negative, positive])])
        net.ReduceFrontSum(losses, self.output_schema.field_blobs())
