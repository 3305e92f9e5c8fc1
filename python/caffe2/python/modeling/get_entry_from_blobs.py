"""Reports single entries of blobs."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.modeling._blob_report import BlobReport


class GetEntryFromBlobs(BlobReport):
    """Reports one entry of matrices, or entry i1 of vectors, or with i1 = i2 = -1 the whole blob.

    Args:
      blobs: names.
      logging_frequency: prints them every this number of runs.
      i1, i2: row and column; -1 means all rows or columns.
    """

    def __init__(self, blobs: Iterable[BlobLike], logging_frequency: int, i1: int = 0,
                 i2: int = 0) -> None:
        super().__init__(blobs, logging_frequency)
        self._i1, self._i2 = i1, i2
        self._suffix = f"_{i1}_{i2}" if i2 >= 0 else f"_{i1}_all" if i1 >= 0 else "_all_all"

    def _compute(self, net, blob):
        output = net.NextScopedBlob(prefix=blob + self._suffix)
        starts = [max(self._i1, 0), max(self._i2, 0)]
        ends = [self._i1 + 1 if self._i1 >= 0 else -1, self._i2 + 1 if self._i2 >= 0 else -1]
        return {self._suffix: net.Slice([blob], [output], starts=starts, ends=ends)}
