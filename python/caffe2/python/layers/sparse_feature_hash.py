"""Smaller ranges of ids."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers.layers import (
    IdList,
    IdScoreList,
    LayerModel,
    ModelLayer,
    Record,
)
from caffe2.python.layers.tags import Tags


class SparseFeatureHash(ModelLayer):
    """An IdList or IdScoreList whose ids are hashed into [0, modulo). Without `use_hashing` it is
    id % modulo, with `use_divide_mod` (id // divisor) % modulo."""

    def __init__(self, model: LayerModel, input_record: Record, seed: int = 0,
                 modulo: int | None = None, use_hashing: bool = True, use_divide_mod: bool = False,
                 divisor: int | None = None, name: str = "sparse_feature_hash",
                 **kwargs: Any) -> None:
        """
        Args:
          seed: seed of the hash.
          modulo: default: the desired hash size of the feature, or the limit of the ids.
        """
        super().__init__(model, name, input_record, **kwargs)
        assert not (use_hashing and use_divide_mod), (
            "use_hashing and use_divide_mod cannot be used together")
        if use_divide_mod:
            assert divisor is not None and divisor >= 1, (
                f"use_divide_mod needs a divisor of at least 1, not {divisor}")
            self.divisor = self.create_param(
                param_name="divisor", shape=[1],
                initializer=("GivenTensorInt64Fill", {"values": np.array([divisor])}),
                optimizer=model.NoOptim)
        self.seed = seed
        self.use_hashing = use_hashing
        self.use_divide_mod = use_divide_mod
        self._is_id_list = schema.equal_schemas(input_record, IdList)
        assert self._is_id_list or schema.equal_schemas(input_record, IdScoreList), (
            f"the input must be an IdList or IdScoreList, found {input_record!r}")
        metadata = self._keys(input_record).metadata or schema.Metadata()
        self.modulo = modulo or self.extract_hash_size(metadata)
        assert self.modulo >= 1, f"modulo must be at least 1, not {self.modulo}"
        with core.NameScope(name):
            self.output_schema = schema.NewRecord(
                model.net, IdList if self._is_id_list else IdScoreList)
        self._keys(self.output_schema).set_metadata(
            metadata._replace(categorical_limit=self.modulo))
        if input_record.lengths.metadata:
            self.output_schema.lengths.set_metadata(input_record.lengths.metadata)
        # The operators exist for the CPU only, and ids usually start on the CPU.
        self.tags.add(Tags.CPU_ONLY)

    def _keys(self, record):
        return record.items if self._is_id_list else record.keys

    def extract_hash_size(self, metadata: schema.Metadata) -> int:
        """The modulo from a Metadata; raises AssertionError if it has none."""
        size = getattr(metadata.feature_specs, "desired_hash_size", None)
        size = size or metadata.categorical_limit
        assert size is not None, (
            "without modulo the metadata must have desired_hash_size or categorical_limit, and is "
            f"{metadata}")
        return size

    def add_ops(self, net: core.Net) -> None:
        """Adds IndexHash, or Mod."""
        net.Copy(self.input_record.lengths(), self.output_schema.lengths())
        if not self._is_id_list:
            net.Copy(self.input_record.values(), self.output_schema.values())
        ids, hashed = self._keys(self.input_record)(), self._keys(self.output_schema)()
        if self.use_hashing:
            net.IndexHash(ids, hashed, seed=self.seed, modulo=self.modulo)
            return
        if self.use_divide_mod:
            ids = net.Div([ids, self.divisor], [net.NextScopedBlob("quotient")])
        net.Mod(ids, hashed, divisor=self.modulo, sign_follow_divisor=True)
