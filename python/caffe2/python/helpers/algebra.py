"""Joining, adding, multiplying and reordering blobs."""


def concat(model, blobs_in, blob_out, **kwargs):
    """Joins blobs along `axis`, or along the channels of `order`."""
    return model.net.Concat(blobs_in, [blob_out, f"_{blob_out}_concat_dims"], **kwargs)[0]


def depth_concat(model, blobs_in, blob_out, **kwargs):
    """Joins blobs along their channels."""
    return model.net.DepthConcat(blobs_in, [blob_out, f"_{blob_out}_concat_dims"], **kwargs)[0]


def sum(model, blob_in, blob_out, **kwargs):
    """The sum of a list of blobs of one shape."""
    return model.net.Sum(blob_in, blob_out, **kwargs)


def transpose(model, blob_in, blob_out, use_cudnn=False, **kwargs):
    """Permutes dimensions by `axes`; default: reverses them."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
    return model.net.Transpose(blob_in, blob_out, **kwargs)


def batch_mat_mul(model, blob_in, blob_out, enable_tensor_core=False, **kwargs):
    """Products of two lists of matrices; trans_a, trans_b transpose."""
    if enable_tensor_core:
        kwargs["engine"] = "TENSORCORE"
    return model.net.BatchMatMul(blob_in, blob_out, **kwargs)
