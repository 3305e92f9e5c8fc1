"""Smoothed labels."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import cast
from caffe2.python.layers.layers import LayerModel, ModelLayer


def smooth_categories(net: core.Net, label: schema.Scalar, dim: BlobReference,
                      matrix: BlobReference, smoothed: BlobReference) -> BlobReference:
    """Adds operators that take the row of a matrix (blob) for each label, by a one-hot code of
    `dim`."""
    one_hot, labels = net.NextScopedBlob("one_hot_label"), net.NextScopedBlob("int64_label")
    net.OneHot([cast(net, label, np.int64, labels), dim], [one_hot])
    return net.MatMul([one_hot, matrix], smoothed)


class LabelSmooth(ModelLayer):
    """Labels as probabilities. With a matrix [K, K]: its row i for label i, float [K]. With two
    numbers: the first for labels of at most 0.5, else the second, float [1]."""

    def __init__(self, model: LayerModel, label: schema.Scalar, smooth_matrix: Any,
                 name: str = "label_smooth", **kwargs: Any) -> None:
        super().__init__(model, name, label, **kwargs)
        self.label = label
        elements = np.array(smooth_matrix).astype(np.float32).flatten()
        self.set_dim(elements)
        self.set_smooth_matrix(elements)
        self.output_schema = schema.Scalar(
            (np.float32, (self.dim,)), self.get_next_blob_reference("smoothed_label"))

    def set_dim(self, smooth_matrix: Any) -> None:
        """Sets `binary_prob_label` and `dim` (K or 1) from the number of elements. Raises
        AssertionError unless it is 2 or a square."""
        count = smooth_matrix.size
        self.binary_prob_label = count == 2
        self.dim = 1 if self.binary_prob_label else int(round(np.sqrt(count)))
        assert self.binary_prob_label or self.dim ** 2 == count, (
            f"a matrix of {count} elements is not square")

    def set_smooth_matrix(self, smooth_matrix: Any) -> None:
        """Keeps the two numbers, or makes global constants of the matrix and K."""
        self.smooth_matrix = smooth_matrix
        if not self.binary_prob_label:
            self.smooth_matrix = self.model.add_global_constant(
                self.name + "_label_smooth_matrix",
                array=smooth_matrix.reshape(self.dim, self.dim), dtype=np.float32)
            self.len = self.model.add_global_constant(
                self.name + "_label_dim", array=self.dim, dtype=np.int64)

    def add_ops_for_binary_prob_label(self, net: core.Net) -> None:
        """Adds the choice of one of two numbers."""
        label = cast(net, self.label, np.float32, net.NextScopedBlob("float32_label"))
        net.StumpFunc(label, self.output_schema(), threshold=0.5,
                      low_value=self.smooth_matrix[0], high_value=self.smooth_matrix[1])

    def add_ops_for_categorical_label(self, net: core.Net) -> None:
        """Adds the choice of a row of the matrix."""
        smooth_categories(net, self.label, self.len, self.smooth_matrix, self.output_schema())

    def add_ops(self, net: core.Net) -> None:
        """Adds the choice."""
        if self.binary_prob_label:
            self.add_ops_for_binary_prob_label(net)
        else:
            self.add_ops_for_categorical_label(net)
