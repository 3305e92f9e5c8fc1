"""Trained weights of places in lists."""

import logging

import numpy as np

from caffe2.python import schema
from caffe2.python.layers.layers import ModelLayer, get_categorical_limit
from caffe2.python.layers.tags import Tags

logger = logging.getLogger(__name__)


class PositionWeighted(ModelLayer):
    """For each item of a List the weight of its place, 1 at first: a Struct of `position_weights`,
    which make, as scores, an IdScoreList of an IdList."""

    def __init__(self, model, input_record, weight_optim=None, name="position_weights"):
        super().__init__(model, name, input_record)
        assert isinstance(input_record, schema.List), f"Incorrect input type {input_record!r}"
        metadata = input_record.lengths.metadata
        self.shape = metadata.categorical_limit if metadata is not None else None
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

    def get_memory_usage(self):
        """The number of weights."""
        return self.shape

    def add_ops(self, net):
        """Adds LengthsRangeFill and Gather."""
        lengths = self.input_record.lengths()
        places = net.LengthsRangeFill([lengths], lengths + "_pos_w_seq")
        net.Gather([self.pos_w, places], self.output_schema.position_weights.field_blobs())
