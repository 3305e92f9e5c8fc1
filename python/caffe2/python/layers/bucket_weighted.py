"""Trained weights of ranges of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.layers import (
    LayerModel,
    ModelLayer,
    Optim,
    Record,
    get_categorical_limit,
)
from caffe2.python.layers.tags import Tags


class BucketWeighted(ModelLayer):
    """For each item of an IdScoreList the trained weight of the bucket of its score (1 at first): a
    Struct of `bucket_weights`.

    Buckets are the integral parts of scores, up to `max_score` (default: the limit of the ids), or
    lie between `bucket_boundaries`; with `hash_buckets` their numbers are hashed.
    """

    def __init__(self, model: LayerModel, input_record: Record, max_score: int = 0,
                 bucket_boundaries: Sequence[float] | None = None, hash_buckets: bool = True,
                 weight_optim: Optim = None, name: str = "bucket_weighted") -> None:
        super().__init__(model, name, input_record)
        assert isinstance(input_record, schema.List), (
            f"the input must be a List, found {input_record!r}")
        self.bucket_boundaries = bucket_boundaries
        self.hash_buckets = hash_buckets
        self.shape = self._count(max_score)
        initializer = "ConstantFill", {"value": 1.0}
        self.bucket_w = self.create_param("bucket_w", [self.shape], initializer, weight_optim)
        weights = self.get_next_blob_reference("bucket_w_gather")
        self.output_schema = schema.Struct(
            ("bucket_weights", schema.Scalar((np.float32, self.shape), weights)))
        self.tags.add(Tags.HANDLE_AS_SPARSE_LAYER)

    def _count(self, max_score):
        if self.bucket_boundaries is None:
            return max_score if max_score > 0 else get_categorical_limit(self.input_record)
        return len(self.bucket_boundaries) + 1

    def get_memory_usage(self) -> int:
        """The number of weights."""
        return self.shape

    def add_ops(self, net: core.Net) -> None:
        """Adds the numbers of the buckets and Gather."""
        scores = self.input_record.values()
        if self.bucket_boundaries is not None:
            buckets = net.Bucketize(scores, "buckets_int", boundaries=self.bucket_boundaries)
        else:
            buckets = net.Cast(scores, "buckets_int", to=core.DataType.INT32)
        if self.hash_buckets:
            buckets = net.IndexHash(buckets, "hashed_buckets_int", seed=0, modulo=self.shape)
        net.Gather([self.bucket_w, buckets], self.output_schema.bucket_weights.field_blobs())
