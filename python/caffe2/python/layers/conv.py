"""Convolution."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_scalar
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record


def _padding(pad, kernel, stride, name):
    """The given padding; default: with a stride of 1 the padding that keeps the size, else 0."""
    if pad is None:
        pad = (kernel - 1) // 2 if stride == 1 else 0
    assert isinstance(pad, int) and pad >= 0, (
        f"{name} must be an integer of at least 0, not {pad!r}")
    return pad


class Conv(ModelLayer):
    """The convolution of images [H, W, C], or [C, H, W] of the order "NCHW", with a bias. The type
    of the output holds only the number of channels."""

    def __init__(self, model: LayerModel, input_record: Record, output_dim: int, kernel_h: int,
                 kernel_w: int, stride_h: int, stride_w: int, pad_b: int | None = None,
                 pad_l: int | None = None, pad_r: int | None = None, pad_t: int | None = None,
                 order: str = "NHWC", kernel_init: Initializer | None = None,
                 bias_init: Initializer | None = None, kernel_optim: Optim = None,
                 bias_optim: Optim = None, name: str = "conv", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        require_scalar(input_record)
        for argument, value in (("kernel_h", kernel_h), ("kernel_w", kernel_w),
                                ("stride_h", stride_h), ("stride_w", stride_w)):
            assert isinstance(value, int) and value > 0, (
                f"{argument} must be a positive integer, not {value!r}")
        assert order in ("NHWC", "NCHW"), f"order must be NHWC or NCHW, not {order}"
        self.kernel_h, self.kernel_w = kernel_h, kernel_w
        self.stride_h, self.stride_w = stride_h, stride_w
        self.pad_t = _padding(pad_t, kernel_h, stride_h, "pad_t")
        self.pad_b = _padding(pad_b, kernel_h, stride_h, "pad_b")
        self.pad_r = _padding(pad_r, kernel_w, stride_w, "pad_r")
        self.pad_l = _padding(pad_l, kernel_w, stride_w, "pad_l")
        self.order = order
        channels = input_record.field_type().shape[-1 if order == "NHWC" else 0]
        assert channels > 0, (
            f"the input must have channels, but the shape of an image is "
            f"{input_record.field_type().shape} in the order {order}")
        window = [kernel_h, kernel_w]
        inner = [*window, channels] if order == "NHWC" else [channels, *window]
        self.kernel = self.create_param(
            param_name="conv_kernel", shape=[output_dim, *inner],
            initializer=kernel_init or ("XavierFill", {}), optimizer=kernel_optim)
        self.bias = self.create_param(
            param_name="conv_bias", shape=[output_dim],
            initializer=bias_init or ("ConstantFill", {"value": 0.0}), optimizer=bias_optim)
        self.output_schema = schema.Scalar(
            (np.float32, (output_dim,)), self.get_next_blob_reference("output"))

    def add_ops(self, net: core.Net) -> None:
        """Adds Conv."""
        net.Conv(
            self.input_record.field_blobs() + [self.kernel, self.bias],
            self.output_schema.field_blobs(), kernel_h=self.kernel_h, kernel_w=self.kernel_w,
            stride_h=self.stride_h, stride_w=self.stride_w, pad_t=self.pad_t, pad_l=self.pad_l,
            pad_b=self.pad_b, pad_r=self.pad_r, order=self.order)
