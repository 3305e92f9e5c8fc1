"""Adding, multiplying and reordering blobs."""

from __future__ import annotations

from typing import Any

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.model_helper import ModelHelper


def sum(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, **kwargs: Any) -> BlobReference:
    """The sum of a list of blobs of one shape."""
    return model.net.Sum(blob_in, blob_out, **kwargs)


def transpose(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, use_cudnn: bool = False,
              **kwargs: Any) -> BlobReference:
    """Permutes dimensions by `axes`; default: reverses them."""
    if use_cudnn:
        kwargs["engine"] = "CUDNN"
    return model.net.Transpose(blob_in, blob_out, **kwargs)


def batch_mat_mul(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
                  enable_tensor_core: bool = False, **kwargs: Any) -> BlobReference:
    """Products of two lists of matrices; trans_a, trans_b transpose."""
    if enable_tensor_core:
        kwargs["engine"] = "TENSORCORE"
    return model.net.BatchMatMul(blob_in, blob_out, **kwargs)


def reduce_sum(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
               **kwargs: Any) -> BlobReference:
    """The sum over the dimensions `axes`, which remain with size 1 if keepdims=1 (the default)."""
    return model.net.ReduceSum(blob_in, blob_out, **kwargs)


def sub(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike, **kwargs: Any) -> BlobReference:
    """The difference of two blobs, of shapes that broadcast."""
    return model.net.Sub(blob_in, blob_out, **kwargs)


def mat_mul(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
            **kwargs: Any) -> BlobReference:
    """The product of two matrices; trans_a, trans_b transpose."""
    return model.net.MatMul(blob_in, blob_out, **kwargs)


def arg_min(model: ModelHelper, blob_in: BlobsLike, blob_out: BlobLike,
            **kwargs: Any) -> BlobReference:
    """The index of the smallest element along `axis` (-1), int64."""
    return model.net.ArgMin(blob_in, blob_out, **kwargs)


def sparse_lengths_sum_4bit_rowwise_sparse(model: ModelHelper, blob_in: BlobsLike,
                                           blob_out: BlobLike, **kwargs: Any) -> BlobReference:
    """Sums of rows of a pruned table with 4 bits for each element. blob_in is [table, indices,
    lengths, map from rows to rows of the pruned table]; see SparseLengthsSum4BitRowwiseSparse."""
    return model.net.SparseLengthsSum4BitRowwiseSparse(blob_in, blob_out, **kwargs)
