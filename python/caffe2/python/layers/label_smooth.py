"""Smoothed labels."""

import numpy as np

from caffe2.python import schema
from caffe2.python.layers._inputs import cast
from caffe2.python.layers.layers import ModelLayer


def smooth_categories(net, label, dim, matrix, smoothed):
    """Adds rows of a matrix (blob) that a Scalar of labels names, by a one hot code of `dim`."""
    one_hot, labels = net.NextScopedBlob("one_hot_label"), net.NextScopedBlob("int64_label")
    net.OneHot([cast(net, label, np.int64, labels), dim], [one_hot])
    return net.MatMul([one_hot, matrix], smoothed)


class LabelSmooth(ModelLayer):
    """Labels as probabilities: row i of a matrix [K, K] for label i, float [K], or with two numbers
    the first for labels of at most 0.5, else the second, float [1]."""

    def __init__(self, model, label, smooth_matrix, name="label_smooth", **kwargs):
        super().__init__(model, name, label, **kwargs)
        self.label = label
        matrix = np.array(smooth_matrix).astype(np.float32).flatten()
        self.binary_prob_label = matrix.size == 2
        self.dim = 1 if self.binary_prob_label else int(round(np.sqrt(matrix.size)))
        assert self.binary_prob_label or self.dim ** 2 == matrix.size, (
            f"a matrix of {matrix.size} elements is not square")
        self.smooth_matrix = matrix
        if not self.binary_prob_label:
            self.smooth_matrix = model.add_global_constant(
                self.name + "_label_smooth_matrix", array=matrix.reshape(self.dim, self.dim),
                dtype=np.float32)
            self.len = model.add_global_constant(
                self.name + "_label_dim", array=self.dim, dtype=np.int64)
        self.output_schema = schema.Scalar(
            (np.float32, (self.dim,)), self.get_next_blob_reference("smoothed_label"))

    def add_ops(self, net):
        """Adds the choice."""
        if self.binary_prob_label:
            label = cast(net, self.label, np.float32, net.NextScopedBlob("float32_label"))
            net.StumpFunc(label, self.output_schema(), threshold=0.5,
                          low_value=self.smooth_matrix[0], high_value=self.smooth_matrix[1])
        else:
            smooth_categories(net, self.label, self.len, self.smooth_matrix, self.output_schema())
