"""ShuffleNet V2 (Ma et al., "ShuffleNet V2: practical guidelines for efficient CNN architecture
design", ECCV 2018), of width 1."""

from caffe2.python import brew

_STAGES = ((3, 116), (7, 232), (3, 464))  # repeats of the basic unit, channels
_FIRST, _LAST = 24, 1024


class ShuffleNetV2Builder:
    """Adds the layers to a model; `last_out` is the blob of the latest."""

    def __init__(self, model, data, num_input_channels, num_labels, is_test=False, bn_epsilon=1e-5):
        self.model = model
        self.last_out = data
        self.num_input_channels = num_input_channels
        self.num_labels = num_labels
        self.is_test = is_test
        self.bn_epsilon = bn_epsilon

    def _conv(self, x, name, dim_in, dim_out, kernel, stride=1, group=1, with_relu=True):
        """Convolution, batch normalization and, as a rule, Relu."""
        x = brew.conv(self.model, x, name, dim_in, dim_out, kernel, stride=stride,
                      pad=kernel // 2, group=group, no_bias=True, weight_init=("MSRAFill", {}))
        x = brew.spatial_bn(self.model, x, name + "_bn", dim_out, epsilon=self.bn_epsilon,
                            is_test=self.is_test)
        return brew.relu(self.model, x, x) if with_relu else x

    def _branch(self, x, name, dim_in, dim_out, stride):
        """1x1, depthwise 3x3 and 1x1 convolutions."""
        x = self._conv(x, name + "_conv1", dim_in, dim_out, 1)
        x = self._conv(x, name + "_dwise", dim_out, dim_out, 3, stride, dim_out, with_relu=False)
        return self._conv(x, name + "_conv2", dim_out, dim_out, 1)

    def _join(self, branches, name, channels):
        """The branches' channels, each of them next to one of the other branch."""
        x = brew.concat(self.model, branches, name + "_concat")
        return self.model.net.ChannelShuffle(x, name + "_shuffle", group=2, kernel=1, order="NCHW")

    def _downsample(self, name, dim_in, dim_out):
        """A unit that halves height and width: both branches see all channels."""
        x, half = self.last_out, dim_out // 2
        left = self._conv(x, name + "_left_dwise", dim_in, dim_in, 3, 2, dim_in, with_relu=False)
        left = self._conv(left, name + "_left_conv", dim_in, half, 1)
        right = self._branch(x, name + "_right", dim_in, half, 2)
        self.last_out = self._join([left, right], name, dim_out)

    def _basic(self, name, channels):
        """A unit that leaves half of the channels alone."""
        left, right = self.model.net.Split(
            self.last_out, [name + "_left", name + "_right"], axis=1)
        right = self._branch(right, name + "_right", channels // 2, channels // 2, 1)
        self.last_out = self._join([left, right], name, channels)

    def create(self):
        """Adds the whole network; returns its last blob, the scores [N, num_labels]."""
        x = self._conv(self.last_out, "stage1_conv", self.num_input_channels, _FIRST, 3, 2)
        self.last_out = brew.max_pool(self.model, x, "stage1_pool", kernel=3, stride=2, pad=1)
        dim_in = _FIRST
        for number, (repeats, channels) in enumerate(_STAGES, 2):
            self._downsample(f"stage{number}_0", dim_in, channels)
            for repeat in range(1, repeats + 1):
                self._basic(f"stage{number}_{repeat}", channels)
            dim_in = channels
        x = self._conv(self.last_out, "conv5", dim_in, _LAST, 1)
        x = brew.average_pool(self.model, x, "avg_pooled", global_pooling=True)
        self.last_out = brew.fc(self.model, x, f"last_out_L{self.num_labels}", _LAST,
                                self.num_labels)
        return self.last_out


def create_shufflenet(model, data, num_input_channels, num_labels, label=None, is_test=False,
                      no_loss=False):
    """Adds ShuffleNet V2 to a model.

    Args:
      data: images [N, num_input_channels, H, W], H and W multiples of 32.
      label: class of each image, int32 [N].
      is_test: normalizes by the running statistics.

    Returns the scores before the softmax [N, num_labels] with no_loss; (softmax, loss) with a
    label; else the softmax.
    """
    scores = ShuffleNetV2Builder(model, data, num_input_channels, num_labels, is_test).create()
    if no_loss:
        return scores
    if label is not None:
        return model.net.SoftmaxWithLoss([scores, label], ["softmax", "loss"])
    return brew.softmax(model, scores, "softmax")
