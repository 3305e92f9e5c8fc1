"""Reports norms of blobs."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.modeling._blob_report import BlobReport


class ComputeNormForBlobs(BlobReport):
    """The L1 norm, or the square of the L2 norm, of each blob in "<blob>_l<p>_norm", float of shape
    [1]; with compute_averaged_norm, divided by the number of elements.

    With `row_index`, the norm of this row of a matrix, in "<blob>_row_<i>_l<p>_norm".
    """

    def __init__(self, blobs: Iterable[BlobLike], logging_frequency: int, p: int = 2,
                 compute_averaged_norm: bool = False, row_index: int | None = None) -> None:
        if p not in (1, 2):
            raise ValueError(f"norms are L1 or L2, not L{p}")
        super().__init__(blobs, logging_frequency)
        self._p = p
        self._averaged = compute_averaged_norm
        self._row_index = row_index
        self._suffix = f"{'_averaged' if compute_averaged_norm else ''}_l{p}_norm"

    def _compute(self, net, blob):
        row = ""
        if self._row_index is not None and self._row_index >= 0:
            row = f"_row_{self._row_index}"
            blob = net.Slice([blob], net.NextScopedBlob(prefix=blob + row),
                             starts=[self._row_index, 0], ends=[self._row_index + 1, -1])
        numbers = net.Cast(blob, net.NextScopedBlob(prefix=blob + "_float"), to=core.DataType.FLOAT)
        norm = net.LpNorm(numbers, net.NextScopedBlob(prefix=blob + self._suffix), p=self._p,
                          average=self._averaged)
        net.StopGradient(norm, net.NextScopedBlob(norm + "_stop_gradient"))
        return {row + self._suffix: norm}
