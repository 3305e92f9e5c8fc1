"""Batch normalization."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Optim, Record


def scale_and_bias(layer: ModelLayer, dims: int, scale_init_value: float, scale_optim: Optim,
                   bias_optim: Optim) -> list[BlobReference]:
    """The parameters "scale" and "bias" of a normalization, of shape [dims]."""
    return [
        layer.create_param(param_name=name, shape=[dims],
                           initializer=("ConstantFill", {"value": value}), optimizer=optimizer)
        for name, value, optimizer in (("scale", scale_init_value, scale_optim),
                                       ("bias", 0.0, bias_optim))]


class BatchNormalization(ModelLayer):
    """SpatialBN, of rows with elements [channels], or images of either order.

    Training normalizes by the batch and updates the running statistics, which the other nets use.
    """

    def __init__(self, model: LayerModel, input_record: Record, name: str = "batch_normalization",
                 scale_optim: Optim = None, bias_optim: Optim = None, momentum: float = 0.9,
                 order: str = "NCHW", scale_init_value: float = 1.0, **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_scalar(input_record)
        self.input_shape = input_record.field_type().shape
        if len(self.input_shape) == 3:
            if order not in ("NCHW", "NHWC"):
                raise ValueError(f"order must be NCHW or NHWC, not {order}")
            input_dims = self.input_shape[0 if order == "NCHW" else 2]
        else:
            assert len(self.input_shape) == 1, (
                f"each row of the input {input_record()} must have 1 or 3 dimensions, not shape "
                f"{self.input_shape}")
            input_dims = self.input_shape[0]
        self.output_schema = schema.Scalar(
            (np.float32, self.input_shape), self.get_next_blob_reference("output"))
        self.momentum = momentum
        self.order = order
        self.scale, self.bias = scale_and_bias(
            self, input_dims, scale_init_value, scale_optim, bias_optim)
        self.rm, self.riv = (
            self.create_param(param_name=statistic, shape=[input_dims],
                              initializer=("ConstantFill", {"value": value}),
                              optimizer=model.NoOptim)
            for statistic, value in (("running_mean", 0.0), ("running_inv_var", 1.0)))

    def _add_ops(self, net, is_test, out_blob=None):
        x = self.input_record()
        flat = len(self.input_shape) == 1
        if flat:
            x = net.ExpandDims(x, dims=[2, 3])
        output = out_blob or self.output_schema.field_blobs()
        statistics = [] if is_test else [
            self.rm, self.riv, net.NextScopedBlob("bn_saved_mean"),
            net.NextScopedBlob("bn_saved_iv")]
        net.SpatialBN([x, self.scale, self.bias, self.rm, self.riv], output + statistics,
                      momentum=self.momentum, is_test=is_test, order=self.order)
        if flat:
            net.Squeeze(output, output, dims=[2, 3])

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the normalization by the batch."""
        self._add_ops(net, is_test=False)

    def add_ops(self, net: core.Net) -> None:
        """Adds the normalization by the running statistics."""
        self._add_ops(net, is_test=True)
