"""The order of the colours that a net takes."""

from __future__ import annotations

import numpy as np

from caffe2.python.convert.errors import ConvertError
from caffe2.python.convert.model import Model, argument, array_of, order_of


def swap_channels(model: Model) -> None:
    """Reverses the order of the colours that the net takes, in the convolutions that read its
    input. Raises ConvertError if something else reads it too, or if there are not three colours."""
    readers = [op for op in model.net.op if model.inputs[0] in op.input]
    for op in readers:
        group = argument(op, "group")
        if op.type != "Conv" or op.input[1] not in model.values or (group and group.i > 1):
            raise ConvertError(
                f"--swap_channels: the input {model.inputs[0]} is read by "
                f"{op.type} ({', '.join(op.output)}), not by a convolution with "
                "parameters of its own"
            )
        axis = 1 if order_of(op) == "NCHW" else -1
        weight = array_of(model.values[op.input[1]])
        if weight.shape[axis] != 3:
            raise ConvertError(
                f"--swap_channels: {op.input[1]} takes {weight.shape[axis]} " "channels, not 3"
            )
        model.values[op.input[1]] = np.ascontiguousarray(np.flip(weight, axis))
