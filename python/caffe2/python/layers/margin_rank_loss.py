"""The hinge loss of ranks."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python.layers.bpr_loss import RankLossMixin, repeated_positive_scores
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class MarginRankLoss(RankLossMixin, ModelLayer):
    """The sum of max(0, margin - (positive - negative)) over the negatives of all rows, or the
    mean."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "margin_rank_loss",
                 margin: float = 0.1, average_loss: bool = False, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert margin >= 0, f"margin must be at least 0, not {margin}"
        self._margin = margin
        self._average_loss = average_loss

    def add_ops(self, net: core.Net) -> None:
        """Adds MarginRankingCriterion."""
        negative = self.input_record.neg_prediction["values"]()
        positive = repeated_positive_scores(net, self.input_record)
        order = net.ConstantFill(
            negative, net.NextScopedBlob("const_1"), value=1, dtype=core.DataType.INT32)
        losses = net.MarginRankingCriterion(
            [positive, negative, order], net.NextScopedBlob("rank_loss"), margin=self._margin)
        reduce = net.AveragedLoss if self._average_loss else net.ReduceFrontSum
        reduce(losses, self.output_schema.field_blobs())
