"""Activations and dropout."""

from caffe2.python import core
from caffe2.python.helpers._shared import with_engine


def relu(model, blob_in, blob_out, use_cudnn=False, order="NCHW", **kwargs):
    """max(x, 0); may be in place."""
    return model.net.Relu(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def tanh(model, blob_in, blob_out, use_cudnn=False, order="NCHW", **kwargs):
    """Hyperbolic tangent; may be in place."""
    return model.net.Tanh(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def prelu(model, blob_in, blob_out, num_channels=1, slope_init=None, **kwargs):
    """Relu with a trained slope below zero, <blob_out>_slope [num_channels], 0.25 at first."""
    operator, arguments = slope_init or ("ConstantFill", {"value": 0.25})
    if model.init_params:
        fill = getattr(model.param_init_net, operator)
        slope = fill([], blob_out + "_slope", shape=[num_channels], **arguments)
    else:
        slope = core.ScopedBlobReference(blob_out + "_slope", model.param_init_net)
    model.AddParameter(slope)
    return model.net.PRelu([blob_in, slope], [blob_out], **kwargs)


def dropout(model, blob_in, blob_out, use_cudnn=False, **kwargs):
    """Zeroes elements at random with probability `ratio` and scales the others; nothing for
    is_test=True."""
    kwargs = with_engine(use_cudnn, kwargs)
    if kwargs.get("is_test", False):
        return model.net.Dropout(blob_in, [blob_out], **kwargs)
    return model.net.Dropout(blob_in, [blob_out, f"_{blob_out}_mask"], **kwargs)[0]
