"""Dropout of lists of ids."""

from __future__ import annotations

from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers.layers import IdList, LayerModel, ModelLayer, Record


class SparseDropoutWithReplacement(ModelLayer):
    """An IdList in which the ids of a row are replaced by the single id `replacement_value`, with a
    probability for each kind of net. The probability 1 for prediction removes a feature that only
    training has."""

    def __init__(self, model: LayerModel, input_record: Record, dropout_prob_train: float,
                 dropout_prob_eval: float, dropout_prob_predict: float, replacement_value: int,
                 name: str = "sparse_dropout", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert schema.equal_schemas(input_record, IdList), (
            f"the input must be an IdList, found {input_record!r}")
        self.dropout_prob_train = float(dropout_prob_train)
        self.dropout_prob_eval = float(dropout_prob_eval)
        self.dropout_prob_predict = float(dropout_prob_predict)
        self.replacement_value = int(replacement_value)
        ratios = (self.dropout_prob_train, self.dropout_prob_eval, self.dropout_prob_predict)
        assert all(0 <= ratio <= 1 for ratio in ratios), (
            f"probabilities of dropout must be in [0, 1], not {ratios}")
        assert any(ratios), (
            "a probability of dropout (train, eval or predict) must be positive, all are 0")
        self.output_schema = schema.NewRecord(model.net, IdList)
        for source, target in zip(input_record.all_scalars(), self.output_schema.all_scalars()):
            target.set_metadata(source.metadata)

    def _add_ops(self, net, ratio):
        net.SparseDropoutWithReplacement(
            [self.input_record.items(), self.input_record.lengths()],
            [self.output_schema.items(), self.output_schema.lengths()], ratio=ratio,
            replacement_value=self.replacement_value)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the dropout of training."""
        self._add_ops(net, self.dropout_prob_train)

    def add_eval_ops(self, net: core.Net) -> None:
        """Adds the dropout of evaluation."""
        self._add_ops(net, self.dropout_prob_eval)

    def add_ops(self, net: core.Net) -> None:
        """Adds the dropout of prediction."""
        self._add_ops(net, self.dropout_prob_predict)
