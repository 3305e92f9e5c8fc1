"""The fully connected layer without a bias."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import schema
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python.layers._inputs import require_shape, uniform_filler
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record
from caffe2.python.layers.sampling_trainable_mixin import SamplingTrainableMixin


class FCWithoutBias(SamplingTrainableMixin, ModelLayer):
    """y = x w^T, float: [rows, inputs] to [rows, output_dims]."""

    def __init__(self, model: LayerModel, input_record: Record, output_dims: int,
                 weight_init: Initializer | None = None, weight_optim: Optim = None,
                 name: str = "fc_without_bias", uniform_weight_init_scale_numerator: float = 1.0,
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        shape = require_shape(input_record)
        self.output_schema = schema.Scalar(
            (np.float32, (output_dims,)), self.get_next_blob_reference("output"))
        self.w = self.create_param(
            param_name="w", shape=[output_dims, shape[0]],
            initializer=weight_init or uniform_filler(
                shape[0], uniform_weight_init_scale_numerator),
            optimizer=weight_optim)

    def _add_ops(self, net, params):
        net.MatMul(self.input_record.field_blobs() + params, self.output_schema.field_blobs(),
                   trans_b=1, **self.kwargs)

    @property
    def param_blobs(self) -> list[BlobReference]:
        """The weights."""
        return [self.w]
