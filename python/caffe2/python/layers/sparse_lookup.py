"""Embeddings of ids."""

from __future__ import annotations

import collections
import logging
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.helpers.arg_scope import get_current_scope
from caffe2.python.layers._inputs import uniform_filler
from caffe2.python.layers.layers import (
    IdList,
    IdListWithEvicted,
    IdScoreList,
    IdScoreListWithEvicted,
    Initializer,
    LayerModel,
    LayerPsParam,
    ModelLayer,
    Optim,
    Record,
    almost_equal_schemas,
    get_categorical_limit,
    get_key,
)
from caffe2.python.optimizer import FP16_ENGINES, Optimizer
from caffe2.python.regularizer import Regularizer

logger = logging.getLogger(__name__)

# The storage of tables for prediction, and its name in the types of operators.
_FLOAT_VERSIONS = ("fp32", "fp16")
_QUANTIZED_SUFFIXES = {
    "uint8rowwise": "8BitsRowwise",
    "fused_uint8rowwise": "Fused8BitRowwise",
    "fused_uint4rowwise": "Fused4BitRowwise",
}

# Reducers by their inputs. Those that take trained scores weight the rows with them.
_REDUCERS = ("Sum", "Mean", "WeightedSum", "WeightedMean", "None")
_ID_REDUCERS = (*_REDUCERS, "Max", "LogSumExp", "LogMeanExp", "Sqrt")
_TRAINED_SCORE_REDUCERS = ("PositionWeighted", "RecencyWeighted")
_ID_SCORE_REDUCERS = (*_REDUCERS, *_TRAINED_SCORE_REDUCERS)
_FP16_REDUCERS = ("Sum", "Mean", "Sqrt", *_TRAINED_SCORE_REDUCERS)


def get_trainer_version_based_on_optim(optim_def: Optim) -> str:
    """ "fp16" if the engine of an Optimizer is one of float16 parameters, else "fp32"."""
    engine = getattr(optim_def, "engine", None) if isinstance(optim_def, Optimizer) else None
    return "fp16" if engine in FP16_ENGINES else "fp32"


def get_sparse_lookup_predictor_version(version: str, blob_size: int | None = None,
                                        min_blob_size_4bits: int | None = None,
                                        embedding_dim: int | None = None,
                                        sparse_feature_name: str | None = None) -> str:
    """The storage of a table for prediction; an arg_scope of this function sets it.

    Args:
      version: "fp32", "fp16", "uint8rowwise", "fused_uint8rowwise" or "fused_uint4rowwise", which
        becomes "fused_uint8rowwise" for odd or small tables and needs the other arguments.
      blob_size: the number of elements.
      min_blob_size_4bits: the smallest number of elements that are stored in 4 bits.
      embedding_dim: the length of rows.

    Raises AssertionError for another version, ValueError for a missing argument.
    """
    _require_version(version, [*_FLOAT_VERSIONS, *_QUANTIZED_SUFFIXES])
    if version != "fused_uint4rowwise":
        return version
    if blob_size is None or min_blob_size_4bits is None or embedding_dim is None:
        raise ValueError(
            f"4 bits for {sparse_feature_name} need blob_size: {blob_size}, min_blob_size_4bits: "
            f"{min_blob_size_4bits}, embedding_dim: {embedding_dim}")
    if blob_size < min_blob_size_4bits or embedding_dim % 2 == 1:
        logger.info("%s takes 8 bits: %d elements in rows of %d, 4 bits from %d elements on",
                    sparse_feature_name, blob_size, embedding_dim, min_blob_size_4bits)
        return "fused_uint8rowwise"
    return version


def get_sparse_lookup_trainer_version(version: str) -> str:
    """The version, if it is one that can be trained: "fp32" or "fp16"."""
    return _require_version(version, _FLOAT_VERSIONS)


def _require_version(version, known):
    assert version in known, f"Unexpected version of sparse_lookup layer {version}"
    return version


class SparseLookup(ModelLayer):
    """Looks up the rows of a table [limit of the ids, inner shape] for the ids of each list, and
    reduces them to one, float of the inner shape.

    Reducers for lists of ids: Sum, Mean, Max, LogSumExp, LogMeanExp, Sqrt (the sum over the root of
    the length) and None (no reduction); WeightedSum and WeightedMean are Sum and Mean. For
    lists with scores: Sum and Mean, which ignore the scores, WeightedSum and WeightedMean, None,
    and PositionWeighted and RecencyWeighted, sums weighted by scores that are trained, too.
    """

    def __init__(self, model: LayerModel, input_record: Record, inner_shape: int | Sequence[int],
                 reducer: str, weight_init: Initializer | None = None, weight_optim: Optim = None,
                 name: str = "sparse_lookup", regularizer: Regularizer | None = None,
                 use_external_weights: bool = False,
                 uniform_weight_init_scale_numerator: float = 1.0, **kwargs: Any) -> None:
        """
        Args:
          input_record: an IdList or IdScoreList whose ids have a categorical_limit, or its variant
            with evicted ids, whose rows are reset before each training step.
          inner_shape: the shape of rows: a number or list.
          weight_init: the initializer; default uniform within sqrt(numerator / limit).
          weight_optim: the optimizer; with an engine of FP16_ENGINES the table is float16.
          use_external_weights: sums weighted by the scores, which are trained, too.
        """
        super().__init__(model, name, input_record, **kwargs)
        self.reducer, self.use_external_weights = reducer, use_external_weights
        self.sparse_key = get_key(input_record)()
        if reducer in _TRAINED_SCORE_REDUCERS or use_external_weights:
            self.external_weights = self._trained_scores()
        self.input_dim = get_categorical_limit(input_record)
        assert self.input_dim is not None and self.input_dim > 0, (
            f"the metadata of {self.sparse_key} must have a positive categorical_limit, not "
            f"{self.input_dim}")
        inner_shape = [inner_shape] if isinstance(inner_shape, int) else list(inner_shape)
        self.shape = [self.input_dim, *inner_shape]
        self.uniform_weight_init_scale_numerator = uniform_weight_init_scale_numerator
        self.trainer_version = get_trainer_version_based_on_optim(weight_optim)
        self.weight_init = weight_init or uniform_filler(
            self.input_dim, uniform_weight_init_scale_numerator)
        if self.trainer_version == "fp16":
            self._use_fp16(regularizer)
        self.evicted_values = None
        if schema.equal_schemas(input_record, IdListWithEvicted) or schema.equal_schemas(
                input_record, IdScoreListWithEvicted, check_field_types=False):
            self.evicted_values = input_record._evicted_values
        self._create_params(inner_shape, weight_optim, regularizer)
        self.output_schema = schema.Scalar(
            (np.float32, tuple(inner_shape)), self.get_next_blob_reference("output"))

    def _trained_scores(self):
        assert almost_equal_schemas(
                self.input_record, IdScoreList, check_field_types=False), (
            f"{self.reducer} by trained weights only supports IdScoreList, which "
            f"{self.sparse_key} is not; the layer PositionWeighted makes one of an IdList")
        assert not self.use_external_weights or self.reducer in (
            "Sum", "WeightedSum", *_TRAINED_SCORE_REDUCERS), (
                "use_external_weights needs the reducer Sum or WeightedSum, not "
                f"{self.reducer}")
        return self.input_record.values()

    def _use_fp16(self, regularizer):
        assert self.reducer in _FP16_REDUCERS or self.use_external_weights, (
            f"float16 tables cannot be trained with the reducer {self.reducer}, only with "
            f"{_FP16_REDUCERS}")
        if self.weight_init[0] == "UniformFill":
            self.weight_init = ("Float16UniformFill", self.weight_init[1])
        assert self.weight_init[0] == "Float16UniformFill", (
            f"{self.weight_init[0]} cannot make a float16 table, only Float16UniformFill")
        assert regularizer is None, (
            f"a float16 table takes no regularizer, found {regularizer}")

    def _create_params(self, inner_shape, weight_optim, regularizer):
        lengths = self.input_record.lengths.metadata
        self.w = self.create_param(
            param_name="w", shape=self.shape, initializer=self.weight_init, optimizer=weight_optim,
            ps_param=LayerPsParam(sparse_key=self.sparse_key,
                                  average_length=lengths.expected_value if lengths else None),
            regularizer=regularizer)
        if self.evicted_values:
            self.reinit_vec = self.create_param(
                param_name="reinit_vec", shape=inner_shape, initializer=self.weight_init,
                optimizer=self.model.NoOptim)
        self.scale_bias_init = ("ConstantFill", {"value": 0.0})
        self.scale_bias = self.create_param(
            param_name="scale_bias", shape=[], initializer=self.scale_bias_init,
            optimizer=self.model.NoOptim)

    # -- Storage -----------------------------------------------------------------------------------

    def get_memory_usage(self) -> int:
        """The size of the table as float, in bytes."""
        return math.prod(self.shape) * 4

    def get_fp16_compatible_parameters(self) -> list[BlobReference]:
        """The table."""
        return [self.w]

    def support_8bit(self) -> bool:
        """True if the table can be quantized by rows: a matrix with rows of at least 8 elements."""
        return len(self.shape) == 2 and self.shape[1] >= 8

    def get_8bits_compatible_parameters(self, fused: bool = True) -> list[Any]:
        """A list of a named tuple of the table `w` and, unless `fused`, `scale_bias`; empty if it
        cannot be quantized."""
        if not self.support_8bit():
            return []
        blobs = {"w": self.w} if fused else {"w": self.w, "scale_bias": self.scale_bias}
        return [collections.namedtuple("RowwiseQuantized8BitsWeight", blobs)(**blobs)]

    # -- Operators ---------------------------------------------------------------------------------

    def _gather(self, net, version, ids, out):
        """Adds the rows of ids, as float."""
        if version == "fp32":
            return net.Gather([self.w, ids], out)
        rows = net.Gather([self.w, ids], "gathered_w")
        if version == "fp16":
            return net.HalfToFloat(rows, out)
        if version == "uint8rowwise":
            scale_bias = net.Gather([self.scale_bias, ids], "gathered_scale_bias")
            return net.Rowwise8BitQuantizedToFloat([rows, scale_bias], out)
        return getattr(net, _QUANTIZED_SUFFIXES[version] + "QuantizedToFloat")(rows, out)

    def _reduce(self, net, version, reducer, inputs, **kwargs):
        """Adds SparseLengths<reducer> of the table and `inputs`."""
        inputs = [self.w, *inputs, self.input_record.lengths()]
        if version == "uint8rowwise":
            inputs.append(self.scale_bias)
        if version in _FLOAT_VERSIONS:
            if reducer == "WeightedSum" and version == "fp16":
                kwargs["engine"] = "FP16"  # its gradient updates float16 tables
        else:
            kwargs = {}
        getattr(net, "SparseLengths" + reducer + _QUANTIZED_SUFFIXES.get(version, ""))(
            inputs, self.output_schema.field_blobs(), **kwargs)

    def _add_ops_id_list(self, net, version):
        assert self.reducer in _ID_REDUCERS, (
            f"Unsupported reducer: {self.reducer} for ID_LIST {self.sparse_key}")
        ids, lengths = self.input_record.items(), self.input_record.lengths()
        # Ids without scores have weight 1.
        reducer = self.reducer.replace("Weighted", "")
        if reducer in ("Sum", "Mean"):
            self._reduce(net, version, reducer, [ids])
        elif reducer == "Sqrt":
            weights = net.LengthsToWeights(
                [lengths], [net.NextScopedBlob("lengths_sqrt")], power=0.5)
            self._reduce(net, version, "WeightedSum", [weights, ids], grad_on_weights=0)
        elif reducer == "None":
            self._gather(net, version, ids, self.output_schema.field_blobs())
        else:
            rows = self._gather(net, version, ids, "table_rows")
            segments = net.LengthsToSegmentIds(lengths, net.NextScopedBlob(lengths + "_sid"))
            getattr(net, "SortedSegmentRange" + reducer)(
                [rows, segments], self.output_schema.field_blobs())

    def _add_ops_id_score_list(self, net, version):
        assert self.reducer in _ID_SCORE_REDUCERS, (
            f"Unsupported reducer: {self.reducer} for ID_SCORE_LIST {self.sparse_key}")
        ids = self.input_record.keys()
        if self.reducer in ("WeightedSum", "WeightedMean"):
            self._reduce(net, version, self.reducer, [self.input_record.values(), ids],
                         grad_on_weights=0)
        elif self.reducer in _TRAINED_SCORE_REDUCERS or self.use_external_weights:
            self._reduce(net, version, "WeightedSum", [self.external_weights, ids],
                         grad_on_weights=1)
        elif self.reducer == "None":
            self._gather(net, version, ids, self.output_schema.field_blobs())
        else:
            self._reduce(net, version, self.reducer, [ids])

    def _add_ops(self, net, version="fp32", is_train=True):
        if self.evicted_values and is_train:
            net.CopyRowsToTensor([self.w, self.evicted_values.get(), self.reinit_vec], [self.w])
        if almost_equal_schemas(self.input_record, IdList):
            self._add_ops_id_list(net, version)
        else:
            self._add_ops_id_score_list(net, version)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the lookup in the trained table."""
        self._add_ops(net, self.trainer_version, is_train=True)

    def add_ops(self, net: core.Net) -> None:
        """Adds the lookup in the table in its storage for prediction."""
        settings = get_current_scope().get(
            get_sparse_lookup_predictor_version.__name__, {"version": "fp32"})
        version = get_sparse_lookup_predictor_version(
            settings["version"], blob_size=self.shape[0] * self.shape[1],
            min_blob_size_4bits=settings.get("min_blob_size_4bits"), embedding_dim=self.shape[1],
            sparse_feature_name=self.sparse_key)
        if version in _QUANTIZED_SUFFIXES and not self.support_8bit():
            version = "fp16"
        self._add_ops(net, version, is_train=False)
