"""Trained weights of the positions in lists."""

from __future__ import annotations

import logging
from typing import Any

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

logger = logging.getLogger(__name__)


class PositionWeighted(ModelLayer):
    """For each item of a List the trained weight of its position (1 at first): a Struct of
    `position_weights`. Used as scores, they turn an IdList into an IdScoreList."""

    def __init__(self, model: LayerModel, input_record: Record, weight_optim: Optim = None,
                 name: str = "position_weights") -> None:
        super().__init__(model, name, input_record)
        assert isinstance(input_record, schema.List), (
            f"the input must be a List, found {input_record!r}")
        metadata = input_record.lengths.metadata
        self.shape: Any = metadata.categorical_limit if metadata is not None else None
        if self.shape is None:
            self.shape = get_categorical_limit(input_record)
            logger.warning("%s: categorical_limit of lengths is not available, using "
                           "categorical_limit of the keys: %s", input_record.lengths(), self.shape)
        self.pos_w = self.create_param(
            param_name="pos_w", shape=[self.shape], initializer=("ConstantFill", {"value": 1.0}),
            optimizer=weight_optim)
        self.output_schema = schema.Struct(
            ("position_weights", schema.Scalar(
                (np.float32, self.shape), self.get_next_blob_reference("pos_w_gather"))))
        self.tags.add(Tags.HANDLE_AS_SPARSE_LAYER)

    def get_memory_usage(self) -> int:
        """The number of weights."""
        return self.shape

    def add_ops(self, net: core.Net) -> None:
        """Adds LengthsRangeFill and Gather."""
        lengths = self.input_record.lengths()
        places = net.LengthsRangeFill([lengths], lengths + "_pos_w_seq")
        net.Gather([self.pos_w, places], self.output_schema.position_weights.field_blobs())
