"""ShuffleNet V2 (Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture
design", ECCV 2018), with Caffe2's names of blobs and parameters."""

from __future__ import annotations

from typing import Any

from caffe2.python import brew
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper

# Channels of the first convolution, of stages 2 to 4, and of the last convolution, by width.
OUTPUT_CHANNELS = {
    "0.5x": [24, 48, 96, 192, 1024],
    "1.0x": [24, 116, 232, 464, 1024],
    "1.5x": [24, 176, 352, 704, 1024],
    "2.0x": [24, 244, 488, 976, 2048],
}


class ShuffleNetV2Builder:
    """Adds the layers to a model; `prev_blob` is the latest blob of the units.

    Args:
      data: images [N, num_input_channels, H, W].
      num_groups: groups of the channel shuffle.
      width: a key of OUTPUT_CHANNELS, or its number, such as 0.5.
      is_test: normalizes by the running statistics.
      detection: units have a further depthwise convolution, which sees more of the image.
      bn_epsilon: added to the variances.

    Raises ValueError for another width.
    """

    def __init__(self, model: ModelHelper, data: BlobLike, num_input_channels: int, num_labels: int,
                 num_groups: int = 2, width: str | float = "1.0x", is_test: bool = False,
                 detection: bool = False, bn_epsilon: float = 1e-5) -> None:
        key = width if isinstance(width, str) else f"{float(width):.1f}x"
        if key not in OUTPUT_CHANNELS:
            raise ValueError(f"no ShuffleNet of width {width}; there are {list(OUTPUT_CHANNELS)}")
        self.model = model
        self.prev_blob = data
        self.num_input_channels = num_input_channels
        self.num_labels = num_labels
        self.num_groups = num_groups
        self.output_channels = OUTPUT_CHANNELS[key]
        self.stage_repeats = [3, 7, 3]
        self.is_test = is_test
        self.detection = detection
        self.bn_epsilon = bn_epsilon

    def create(self) -> BlobReference:
        """Adds the whole network; returns its last blob, the scores `last_out` [N, num_labels].

        The features are averaged over the whole image, so that it may be of any size of at least
        7 x 7 pixels (Caffe2 averages 7 x 7 features, which needs images of 224 x 224 pixels).
        """
        channels, *stages, last = self.output_channels
        x = brew.conv(self.model, self.prev_blob, "stage1_conv", self.num_input_channels, channels,
                      kernel=3, stride=2, weight_init=("MSRAFill", {}))
        self.prev_blob = brew.max_pool(self.model, x, "stage1_pool", kernel=3, stride=2)
        for stage, (dim_out, repeats) in enumerate(zip(stages, self.stage_repeats), 2):
            self.add_spatial_ds_unit(f"stage{stage}_stride2", channels, dim_out)
            channels = dim_out
            for repeat in range(1, repeats + 1):
                self.add_basic_unit(f"stage{stage}_stride1_repeat{repeat}", channels)
        self.last_conv = brew.conv(self.model, self.prev_blob, "conv5", channels, last, kernel=1)
        self.avg_pool = brew.average_pool(
            self.model, self.last_conv, "avg_pool", global_pooling=True)
        self.last_out = brew.fc(
            self.model, self.avg_pool, f"last_out_L{self.num_labels}", last, self.num_labels)
        return self.last_out

    def add_spatial_ds_unit(self, prefix: str, in_channels: int, out_channels: int,
                            stride: int = 2) -> None:
        """A unit that divides height and width by `stride`: both branches read all channels and
        make half of the `out_channels` each."""
        half = out_channels // 2
        left = self._detect(self.prev_blob, prefix + "_left", in_channels)
        # Caffe2 has no underscore in this name.
        left = self.add_dwconv3x3_bn(left, prefix + "left_dwconv", in_channels, stride)
        left = self.add_conv1x1_bn(left, prefix + "_left_conv1", in_channels, half)
        right = self._branch(self.prev_blob, prefix + "_right", in_channels, half, stride)
        self._join(left, right, prefix)

    def add_basic_unit(self, prefix: str, in_channels: int, stride: int = 1) -> None:
        """A unit that changes half of the channels."""
        half = in_channels // 2
        left, right = self.model.net.Split(
            self.prev_blob, [prefix + "_left", prefix + "_right"], axis=1)
        self._join(left, self._branch(right, prefix + "_right", half, half, stride), prefix)

    def _branch(self, x, name, dim_in, dim_out, stride):
        """1x1, depthwise 3x3 and 1x1 convolutions."""
        x = self._detect(x, name, dim_in)
        x = self.add_conv1x1_bn(x, name + "_conv1", dim_in, dim_out)
        x = self.add_dwconv3x3_bn(x, name + "_dwconv", dim_out, stride)
        return self.add_conv1x1_bn(x, name + "_conv2", dim_out, dim_out)

    def _detect(self, x, name, channels):
        if not self.detection:
            return x
        return self.add_detection_unit(x, name + "_detection", channels, channels)

    def _join(self, left, right, prefix):
        """The channels of both branches, interleaved."""
        joined = brew.concat(self.model, [right, left], prefix + "_concat")
        self.prev_blob = self.model.net.ChannelShuffle(
            joined, prefix + "_ch_shuffle", group=self.num_groups, kernel=1)

    def _normalize(self, x, name, channels):
        return brew.spatial_bn(self.model, x, name, channels, epsilon=self.bn_epsilon,
                               is_test=self.is_test)

    def add_detection_unit(self, prev_blob: BlobLike, prefix: str, in_channels: int,
                           out_channels: int, kernel: int = 3, pad: int = 1) -> BlobReference:
        """A depthwise convolution <prefix>_conv and its normalization <prefix>_bn; returns the
        latter."""
        x = brew.conv(self.model, prev_blob, prefix + "_conv", in_channels, out_channels,
                      kernel=kernel, pad=pad, group=in_channels, weight_init=("MSRAFill", {}))
        return self._normalize(x, prefix + "_bn", out_channels)

    def add_conv1x1_bn(self, prev_blob: BlobLike, blob: str, in_channels: int,
                       out_channels: int) -> BlobReference:
        """A 1x1 convolution, normalization and Relu; returns <blob>_bn."""
        x = brew.conv(self.model, prev_blob, blob, in_channels, out_channels, kernel=1,
                      weight_init=("MSRAFill", {}))
        x = self._normalize(x, blob + "_bn", out_channels)
        return brew.relu(self.model, x, x)

    def add_dwconv3x3_bn(self, prev_blob: BlobLike, blob: str, channels: int,
                         stride: int) -> BlobReference:
        """A depthwise 3x3 convolution and its normalization; returns <blob>_bn."""
        x = brew.conv(self.model, prev_blob, blob, channels, channels, kernel=3, stride=stride,
                      pad=1, group=channels, weight_init=("MSRAFill", {}))
        return self._normalize(x, blob + "_bn", channels)


def create_shufflenet(model: ModelHelper, data: BlobLike, num_input_channels: int, num_labels: int,
                      label: BlobLike | None = None, is_test: bool = False,
                      no_loss: bool = False) -> Any:
    """Adds ShuffleNet V2 of width 1 to a model.

    Args:
      data: images [N, num_input_channels, H, W].
      label: class of each image, int32 [N].
      is_test: normalizes by the running statistics.

    Returns the scores before the softmax [N, num_labels] with no_loss; (softmax, loss) with a
    label; else the softmax.
    """
    scores = ShuffleNetV2Builder(
        model, data, num_input_channels, num_labels, is_test=is_test).create()
    if no_loss:
        return scores
    if label is not None:
        return model.net.SoftmaxWithLoss([scores, label], ["softmax", "loss"])
    return brew.softmax(model, scores, "softmax")
