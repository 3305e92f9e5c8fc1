"""Residual networks (He et al., 2015) and ResNeXt (Xie et al., 2016)."""

from __future__ import annotations

from typing import Any

from caffe2.python import brew
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper

# By the number of layers: the number of blocks in each of the four groups.
RESNEXT_BLOCK_CONFIG = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
}
RESNEXT_STRIDES = [1, 2, 2, 2]


class ResNetBuilder:
    """Adds residual blocks one after another. Block b has the blobs comp_b_conv_1,
    comp_b_spatbn_1, ..., shortcut_projection_b and comp_b_sum_n."""

    def __init__(self, model: ModelHelper, prev_blob: BlobLike, no_bias: int, is_test: bool,
                 bn_epsilon: float = 1e-5, bn_momentum: float = 0.9) -> None:
        self.model = model
        self.comp_count = 0
        self.comp_idx = 0
        self.prev_blob = prev_blob
        self.is_test = is_test
        self.bn_epsilon = bn_epsilon
        self.bn_momentum = bn_momentum
        self.no_bias = 1 if no_bias else 0

    def add_conv(self, in_filters: int, out_filters: int, kernel: int, stride: int = 1,
                 group: int = 1, pad: int = 0) -> BlobLike:
        """Adds a convolution to the last blob, and returns its output."""
        self.comp_idx += 1
        self.prev_blob = brew.conv(
            self.model, self.prev_blob, f"comp_{self.comp_count}_conv_{self.comp_idx}",
            in_filters, out_filters, weight_init=("MSRAFill", {}), kernel=kernel, stride=stride,
            group=group, pad=pad, no_bias=self.no_bias)
        return self.prev_blob

    def add_relu(self) -> BlobLike:
        """Adds a ReLU, in place, and returns its output."""
        self.prev_blob = brew.relu(self.model, self.prev_blob, self.prev_blob)
        return self.prev_blob

    def _normalize(self, blob, name, num_filters, epsilon=None):
        return brew.spatial_bn(
            self.model, blob, name, num_filters, epsilon=epsilon or self.bn_epsilon,
            momentum=self.bn_momentum, is_test=self.is_test)

    def add_spatial_bn(self, num_filters: int) -> BlobLike:
        """Adds batch normalization, and returns its output."""
        name = f"comp_{self.comp_count}_spatbn_{self.comp_idx}"
        self.prev_blob = self._normalize(self.prev_blob, name, num_filters)
        return self.prev_blob

    def _add_shortcut(self, shortcut, input_filters, output_filters, stride, spatial_batch_norm,
                      epsilon=None):
        """Adds the input of the block, through a 1x1 convolution if the number of channels
        changes."""
        if output_filters != input_filters:
            name = f"shortcut_projection_{self.comp_count}"
            shortcut = brew.conv(
                self.model, shortcut, name, input_filters, output_filters,
                weight_init=("MSRAFill", {}), kernel=1, stride=stride, no_bias=self.no_bias)
            if spatial_batch_norm:
                shortcut = self._normalize(shortcut, name + "_spatbn", output_filters, epsilon)
        self.prev_blob = brew.sum(
            self.model, [shortcut, self.prev_blob], f"comp_{self.comp_count}_sum_{self.comp_idx}")
        self.comp_idx += 1
        self.add_relu()
        self.comp_count += 1

    def add_bottleneck(self, input_filters: int, base_filters: int, output_filters: int,
                       stride: int = 1, group: int = 1, spatial_batch_norm: bool = True) -> int:
        """1x1, 3x3 (with the stride), 1x1, and the shortcut. Returns `output_filters`."""
        self.comp_idx = 0
        shortcut = self.prev_blob
        for in_filters, kernel in ((input_filters, 1), (base_filters, 3)):
            middle = kernel == 3
            self.add_conv(in_filters, base_filters, kernel=kernel, stride=stride if middle else 1,
                          group=group if middle else 1, pad=1 if middle else 0)
            if spatial_batch_norm:
                self.add_spatial_bn(base_filters)
            self.add_relu()
        self.add_conv(base_filters, output_filters, kernel=1)
        if spatial_batch_norm:
            self.add_spatial_bn(output_filters)
        self._add_shortcut(shortcut, input_filters, output_filters, stride, spatial_batch_norm)
        return output_filters

    def add_simple_block(self, input_filters: int, num_filters: int, down_sampling: bool = False,
                         spatial_batch_norm: bool = True) -> None:
        """3x3 (with stride 2 if down_sampling), 3x3, and the shortcut."""
        self.comp_idx = 0
        shortcut = self.prev_blob
        stride = 2 if down_sampling else 1
        self.add_conv(input_filters, num_filters, kernel=3, stride=stride, pad=1)
        if spatial_batch_norm:
            self.add_spatial_bn(num_filters)
        self.add_relu()
        self.add_conv(num_filters, num_filters, kernel=3, pad=1)
        if spatial_batch_norm:
            self.add_spatial_bn(num_filters)
        # This one normalization has an epsilon of its own in Caffe2.
        self._add_shortcut(shortcut, input_filters, num_filters, stride, spatial_batch_norm, 1e-3)


def _finish(model, last_out, label, no_loss):
    if no_loss:
        return last_out
    if label is not None:
        return model.SoftmaxWithLoss([last_out, label], ["softmax", "loss"])
    return brew.softmax(model, last_out, "softmax")


def create_resnet50(model: ModelHelper, data: BlobLike, num_input_channels: int, num_labels: int,
                    label: BlobLike | None = None, is_test: bool = False, no_loss: bool = False,
                    no_bias: int = 0, conv1_kernel: int = 7, conv1_stride: int = 2,
                    final_avg_kernel: int = 7) -> Any:
    """ResNet-50.

    Args:
      data: images [N, num_input_channels, H, W] (or NHWC, by the model's arg_scope).
      label: int32 [N]; then the result is (softmax, loss). Without it, the softmax; with no_loss,
        the scores "last_out_L<num_labels>" [N, num_labels].
      no_bias: 1 for convolutions without bias.
      conv1_kernel, conv1_stride: for the first convolution, which pads by 3.
      final_avg_kernel: without effect: the whole image is averaged.
    """
    return create_resnext(
        model, data, num_input_channels, num_labels, num_layers=50, num_groups=1,
        num_width_per_group=64, label=label, is_test=is_test, no_loss=no_loss, no_bias=no_bias,
        conv1_kernel=conv1_kernel, conv1_stride=conv1_stride, final_avg_kernel=final_avg_kernel)


def create_resnext(model: ModelHelper, data: BlobLike, num_input_channels: int, num_labels: int,
                   num_layers: int, num_groups: int, num_width_per_group: int,
                   label: BlobLike | None = None, is_test: bool = False, no_loss: bool = False,
                   no_bias: int = 1, conv1_kernel: int = 7, conv1_stride: int = 2,
                   final_avg_kernel: int = 7, log: Any = None, bn_epsilon: float = 1e-5,
                   bn_momentum: float = 0.9) -> Any:
    """ResNeXt of 50, 101, 152 or 200 layers; with one group of width 64 it is a ResNet. As in
    Caffe2, networks of "18" and "34" layers consist of bottlenecks of three convolutions, too; the
    last convolution of each does not widen.

    Args:
      num_groups, num_width_per_group: the number of groups of the 3x3 convolutions, and the
        channels of each group in the first blocks.
      bn_epsilon, bn_momentum: for all normalizations.

    For the other arguments and the result see create_resnet50. Raises ValueError for another number
    of layers.
    """
    if num_layers not in RESNEXT_BLOCK_CONFIG:
        raise ValueError(f"no residual network of {num_layers} layers; there are "
                         f"{list(RESNEXT_BLOCK_CONFIG)}")
    brew.conv(model, data, "conv1", num_input_channels, 64, weight_init=("MSRAFill", {}),
              kernel=conv1_kernel, stride=conv1_stride, pad=3, no_bias=no_bias)
    brew.spatial_bn(model, "conv1", "conv1_spatbn_relu", 64, epsilon=bn_epsilon,
                    momentum=bn_momentum, is_test=is_test)
    brew.relu(model, "conv1_spatbn_relu", "conv1_spatbn_relu")
    pool = brew.max_pool(model, "conv1_spatbn_relu", "pool1", kernel=3, stride=2, pad=1)
    builder = ResNetBuilder(model, pool, no_bias=no_bias, is_test=is_test, bn_epsilon=bn_epsilon,
                            bn_momentum=bn_momentum)
    filters = 64
    first_out = 256 if num_layers >= 50 else 64
    for group, blocks in enumerate(RESNEXT_BLOCK_CONFIG[num_layers]):
        for block in range(blocks):
            filters = builder.add_bottleneck(
                filters, (num_groups * num_width_per_group) << group, first_out << group,
                stride=RESNEXT_STRIDES[group] if block == 0 else 1, group=num_groups)
    final_avg = brew.average_pool(model, builder.prev_blob, "final_avg", global_pooling=True)
    last_out = brew.fc(model, final_avg, f"last_out_L{num_labels}", filters, num_labels)
    return _finish(model, last_out, label, no_loss)


def create_resnet_32x32(model: ModelHelper, data: BlobLike, num_input_channels: int,
                        num_groups: int, num_labels: int, is_test: bool = False) -> BlobReference:
    """The residual network for images of 32 x 32 pixels, with three groups of 2 * num_groups blocks
    of two convolutions; returns the softmax."""
    brew.conv(model, data, "conv1", num_input_channels, 16, kernel=3, stride=1)
    brew.spatial_bn(model, "conv1", "conv1_spatbn", 16, epsilon=1e-3, is_test=is_test)
    builder = ResNetBuilder(model, brew.relu(model, "conv1_spatbn", "relu1"), no_bias=0,
                            is_test=is_test)
    filters = 16
    for group in range(3):
        for block in range(2 * num_groups):
            builder.add_simple_block(filters, 16 << group, down_sampling=group > 0 and block == 0)
            filters = 16 << group
    brew.average_pool(model, builder.prev_blob, "final_avg", kernel=8, stride=1)
    last_out = brew.fc(model, "final_avg", "last_out", filters, num_labels)
    return brew.softmax(model, last_out, "softmax")
