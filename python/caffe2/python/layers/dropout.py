"""Dropout."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class Dropout(ModelLayer):
    """Sets elements to 0 with a probability and scales the others, in training; with
    `dropout_for_eval` in all nets."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "dropout",
                 ratio: float = 0.5, dropout_for_eval: bool = False, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_scalar(input_record)
        assert 0 <= ratio < 1, f"ratio must be at least 0 and less than 1, not {ratio}"
        self.output_schema = input_record.clone_schema()
        self.output_schema.set_value(self.get_next_blob_reference("output"))
        self.dropout_for_eval = dropout_for_eval
        self.ratio = ratio

    def _add_ops(self, net, is_test):
        net.Dropout(self.input_record.field_blobs(),
                    self.output_schema.field_blobs() + [net.NextScopedBlob("d_mask")],
                    ratio=self.ratio, is_test=is_test)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds Dropout in training mode."""
        self._add_ops(net, is_test=False)

    def add_ops(self, net: core.Net) -> None:
        """Adds Dropout in test mode, unless dropout_for_eval is set."""
        self._add_ops(net, is_test=not self.dropout_for_eval)
