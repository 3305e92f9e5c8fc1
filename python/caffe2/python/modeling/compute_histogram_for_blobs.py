"""Reports histograms of blobs."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.modeling._blob_report import BlobReport


class ComputeHistogramForBlobs(BlobReport):
    """The share of the elements of each blob that lie in each of `num_buckets` equal parts of
    [lower_bound, upper_bound).

    The result is float of shape [num_buckets + 2]: the share below the bounds, the parts, the share
    above. Blob "<blob>_curr_normalized_hist" holds it for the last run, or with `accumulate`,
    "<blob>_acc_normalized_hist" for all runs."""

    def __init__(self, blobs: Iterable[BlobLike], logging_frequency: int, num_buckets: int = 30,
                 lower_bound: float = 0.0, upper_bound: float = 1.0,
                 accumulate: bool = False) -> None:
        if num_buckets <= 0:
            raise ValueError(f"a histogram of {num_buckets} buckets")
        if not lower_bound < upper_bound:
            raise ValueError(f"a histogram from {lower_bound} to {upper_bound}")
        super().__init__(blobs, logging_frequency)
        self._accumulate = accumulate
        self._arguments: dict[str, float] = {
            "num_buckets": int(num_buckets), "lower_bound": float(lower_bound),
            "upper_bound": float(upper_bound)}
        self._width = int(num_buckets) + 2
        self._suffix = f"_{'acc' if accumulate else 'curr'}_normalized_hist"

    def _compute(self, net, blob):
        def name(suffix):
            return net.NextScopedBlob(prefix=blob + suffix)

        numbers = net.Cast(blob, name("_float"), to=core.DataType.FLOAT)
        counts = net.AccumulateHistogram(
            numbers, [name("_curr_hist"), name("_acc_hist")], **self._arguments)
        counts = net.Cast(counts[1 if self._accumulate else 0], name("_hist_float"),
                          to=core.DataType.FLOAT)
        return {self._suffix: net.NormalizeL1(counts, name(self._suffix))}
