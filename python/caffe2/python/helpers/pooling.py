"""Pooling."""

from caffe2.python.helpers._shared import with_engine


def max_pool(model, blob_in, blob_out, use_cudnn=False, order="NCHW", **kwargs):
    """The maximum of each window: kernel, stride, pad in pixels, or global_pooling=True."""
    return model.net.MaxPool(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def average_pool(model, blob_in, blob_out, use_cudnn=False, order="NCHW", **kwargs):
    """The mean of each window: kernel, stride, pad in pixels, or global_pooling=True."""
    return model.net.AveragePool(blob_in, blob_out, order=order, **with_engine(use_cudnn, kwargs))


def max_pool_with_index(model, blob_in, blob_out, order="NCHW", **kwargs):
    """max_pool, and where each maximum was, in the blob "_<blob_out>_index"."""
    return model.net.MaxPoolWithIndex(
        blob_in, [blob_out, f"_{blob_out}_index"], order=order, **kwargs)[0]
