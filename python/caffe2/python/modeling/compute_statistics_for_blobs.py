"""Reports statistics of blobs."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.modeling._blob_report import BlobReport


class ComputeStatisticsForBlobs(BlobReport):
    """The minimum, maximum, mean and unbiased standard deviation of each blob, in
    "<blob>_summary", float of shape [4]."""

    _width = 4

    def __init__(self, blobs: Iterable[BlobLike], logging_frequency: int) -> None:
        super().__init__(blobs, logging_frequency)
        self._suffix = "_summary"

    def _compute(self, net, blob):
        numbers = net.Cast(blob, net.NextScopedBlob(prefix=blob + "_float"), to=core.DataType.FLOAT)
        return {self._suffix: net.Summarize(
            numbers, net.NextScopedBlob(prefix=blob + self._suffix), to_file=0)}
