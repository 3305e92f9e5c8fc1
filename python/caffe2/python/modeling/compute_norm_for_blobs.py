"""Reports norms of blobs."""

from caffe2.python.modeling._blob_report import BlobReport


class ComputeNormForBlobs(BlobReport):
    """The L1 or L2 norm of each blob (not squared for p = 2), or with compute_averaged_norm of its
    mean element, in "<blob>_l<p>_norm"."""

    def __init__(self, blobs, logging_frequency, p=2, compute_averaged_norm=False, row_index=None):
        if p not in (1, 2):
            raise ValueError(f"norms are L1 or L2, not L{p}")
        super().__init__(blobs, logging_frequency)
        self._p = p
        self._averaged = compute_averaged_norm
        self._row_index = row_index
        averaged = "_averaged" if compute_averaged_norm else ""
        row = f"_row_{row_index}" if row_index is not None and row_index >= 0 else ""
        self._suffix = f"{averaged}_l{p}_norm{row}"

    def _compute(self, net, blob):
        output = net.NextScopedBlob(prefix=blob + self._suffix)
        if self._row_index is not None and self._row_index >= 0:
            blob = net.Slice([blob], net.NextScopedBlob(prefix=output + "_row"),
                             starts=[self._row_index, 0], ends=[self._row_index + 1, -1])
        parts = net.Sqr(blob) if self._p == 2 else net.Abs(blob)
        total = net.SumElements(parts, average=self._averaged)
        return {self._suffix: net.Sqrt(total, output) if self._p == 2 else net.Copy(total, output)}
