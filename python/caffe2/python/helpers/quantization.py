"""Tensors whose rows are stored in a few bits each element."""


def fused_8bit_rowwise_quantized_to_float(model, blob_in, blob_out):
    """Rows of bytes, each ended by its float scale and bias [R, C + 8], as floats [R, C]."""
    return model.net.Fused8BitRowwiseQuantizedToFloat(blob_in, blob_out)
