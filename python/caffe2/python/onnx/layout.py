"""Converts nets on NHWC images to nets on NCHW images, the order of ONNX."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from caffe2.proto import caffe2_pb2

# The inputs that are images or filters, of the operators with an order. Output 0 is an image.
_ORDERED_INPUTS = {
    "AveragePool": (0,), "ChannelShuffle": (0,), "Conv": (0, 1), "ConvTranspose": (0, 1),
    "InstanceNorm": (0,), "LRN": (0,), "MaxPool": (0,), "PRelu": (0,), "PadImage": (0,),
    "ResizeNearest": (0,), "SpatialBN": (0,),
}
# What they compute does not depend on the order, if all their inputs have the same order.
_ANY_ORDER = {
    "Abs", "Ceil", "Clip", "Copy", "Dropout", "Elu", "Exp", "Floor", "LeakyRelu", "Log", "Max",
    "Mean", "Min", "Negative", "Relu", "Scale", "Selu", "Sigmoid", "Softplus", "Softsign", "Sqrt",
    "StopGradient", "Sum", "Tanh",
}


def _order_of(op):
    return next((arg for arg in op.arg if arg.name == "order" and arg.s == b"NHWC"), None)


class _Rewriter:
    """Takes the operators out of a net, and adds others. A blob is there as it was, as an NCHW
    image of another name, or both."""

    def __init__(self, net, values):
        self.net, self.values = net, values
        self._is_plain = {*net.external_input, *values}
        self._images = {}
        self._taken = {name for op in net.op for name in (*op.input, *op.output)} | self._is_plain
        del net.op[:]

    def _image_name(self, blob):
        name = blob + "_nchw"
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def is_image(self, blob):
        return blob in self._images and blob not in self._is_plain

    def image(self, blob):
        """The name of the NCHW image."""
        if blob not in self._images:
            name = self._images[blob] = self._image_name(blob)
            if blob in self.values:
                self.values[name] = np.ascontiguousarray(np.moveaxis(self.values[blob], -1, 1))
            else:
                self.net.op.add(type="NHWC2NCHW", input=[blob], output=[name])
        return self._images[blob]

    def plain(self, blob):
        """The blob, as the net before has it."""
        if self.is_image(blob):
            self.net.op.add(type="NCHW2NHWC", input=[self._images[blob]], output=[blob])
            self._is_plain.add(blob)
        return blob

    def write_image(self, blob):
        self._is_plain.discard(blob)
        if blob not in self._images:
            self._images[blob] = self._image_name(blob)
        return self._images[blob]

    def write_plain(self, blob):
        self._images.pop(blob, None)
        self._is_plain.add(blob)
        return blob

    def add(self, op):
        copy = caffe2_pb2.OperatorDef.FromString(op.SerializeToString())
        order, ordered = _order_of(copy), _ORDERED_INPUTS.get(op.type, ())
        if order is not None and ordered:
            order.s = b"NCHW"
            copy.input[:] = [self.image(blob) if i in ordered else self.plain(blob)
                             for i, blob in enumerate(op.input)]
            outputs = [self.write_image(op.output[0]), *map(self.write_plain, op.output[1:])]
        elif op.type in _ANY_ORDER and all(map(self.is_image, op.input)):
            copy.input[:] = [self.image(blob) for blob in op.input]
            outputs = [self.write_image(op.output[0]), *map(self.write_plain, op.output[1:])]
        else:
            copy.input[:] = [self.plain(blob) for blob in op.input]
            outputs = list(map(self.write_plain, op.output))
        copy.output[:] = outputs
        self.net.op.append(copy)


def to_nchw(net: caffe2_pb2.NetDef, values: Mapping[str, np.ndarray],
            ) -> tuple[caffe2_pb2.NetDef, dict[str, np.ndarray]]:
    """A net that computes the same, in which no operator that has an NCHW form works on NHWC
    images; and its parameters, filters transposed.

    Its inputs and outputs keep their names and shapes: images are transposed after they come in,
    and before they go out. A net without such operators is returned as it is.

    Args:
      values: {blob: array} of parameters.
    """
    if not any(_order_of(op) for op in net.op if op.type in _ORDERED_INPUTS):
        return net, dict(values)
    result = caffe2_pb2.NetDef.FromString(net.SerializeToString())
    rewriter = _Rewriter(result, dict(values))
    for op in net.op:
        rewriter.add(op)
    for blob in net.external_output:
        rewriter.plain(blob)
    result.external_input.extend(
        name for name in rewriter.values if name not in result.external_input)
    return result, rewriter.values
