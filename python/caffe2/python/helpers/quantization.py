"""Tensors whose rows are stored with a few bits per element."""

from __future__ import annotations

from caffe2.python._core.blob_reference import BlobLike, BlobReference, BlobsLike
from caffe2.python.model_helper import ModelHelper


def fused_8bit_rowwise_quantized_to_float(model: ModelHelper, blob_in: BlobsLike,
                                          blob_out: BlobLike) -> BlobReference:
    """Rows of bytes, each ended by its float scale and bias [R, C + 8], as floats [R, C]."""
    return model.net.Fused8BitRowwiseQuantizedToFloat(blob_in, blob_out)
