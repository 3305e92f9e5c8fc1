"""The cross entropy by softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import cast, float_weight, require_fields
from caffe2.python.layers.label_smooth import smooth_categories
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class BatchSoftmaxLoss(ModelLayer):
    """SoftmaxWithLoss of `prediction`, float [classes], and `label`, weighted by `weight` if there
    is one: a Struct of `softmax` [classes] and `loss`, a float."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "batch_softmax_loss",
                 label_smoothing_matrix: Any = None, label_prob: bool = False, scale: float = 1.0,
                 average_by_batch_size: bool = False, **kwargs: Any) -> None:
        """
        Args:
          label_smoothing_matrix: [classes, classes], whose row i replaces label i.
          label_prob: labels are probabilities, float [classes], not integers.
          scale: factor of the loss.
          average_by_batch_size: divides by the number of rows, not by the sum of their weights.
        """
        super().__init__(model, name, input_record, **kwargs)
        require_fields(input_record, label=schema.Scalar(), prediction=schema.Scalar())
        self.label_prob = label_prob
        self.scale = scale
        self.average_by_batch_size = average_by_batch_size
        self.label_smoothing_matrix = label_smoothing_matrix
        if label_smoothing_matrix is not None:
            self.initialize_label_smoothing_constants()
        self.output_schema = schema.Struct(
            ("softmax", schema.Scalar(input_record.prediction.field_type(),
                                      self.get_next_blob_reference("softmax"))),
            ("loss", schema.Scalar(np.float32, self.get_next_blob_reference("loss"))))

    def initialize_label_smoothing_constants(self) -> None:
        """Makes global constants of `label_smoothing_matrix`, which becomes their blob, and of its
        size. Raises AssertionError unless it is square."""
        matrix = np.array(self.label_smoothing_matrix, np.float32)
        assert matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1], (
            f"a matrix of shape {matrix.shape} is not square")
        self.label_smoothing_matrix = self.model.add_global_constant(
            self.name + "_label_smoothing_matrix", array=matrix, dtype=np.float32)
        self.label_dim = self.model.add_global_constant(
            self.name + "_label_dim", array=matrix.shape[0], dtype=np.int64)
        self.label_prob = True  # smoothed labels are probabilities

    def compute_smoothed_label(self, net: core.Net) -> BlobReference:
        """Adds the rows of the matrix for the labels; returns their blob, float [rows, classes]."""
        return smooth_categories(
            net, self.input_record.label, self.label_dim, self.label_smoothing_matrix,
            net.NextScopedBlob("smoothed_label"))

    def _label(self, net):
        label = self.input_record.label
        if self.label_smoothing_matrix is not None:
            return self.compute_smoothed_label(net)
        if self.label_prob or label.field_type().base == np.int32:
            return label()
        return cast(net, label, np.int32, net.NextScopedBlob("int32_label"))

    def add_ops(self, net: core.Net) -> None:
        """Adds the loss."""
        inputs = [self.input_record.prediction(), self._label(net)]
        if "weight" in self.input_record:
            inputs.append(float_weight(net, self.input_record))
        net.SoftmaxWithLoss(
            inputs, self.output_schema.field_blobs(), label_prob=self.label_prob, scale=self.scale,
            average_by_batch_size=self.average_by_batch_size)
