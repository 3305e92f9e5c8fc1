"""A trained shift."""

from __future__ import annotations

from caffe2.python import core, schema
from caffe2.python.layers._inputs import require_shape, uniform_filler
from caffe2.python.layers.layers import Initializer, LayerModel, ModelLayer, Optim, Record


class AddBias(ModelLayer):
    """x + b of a Scalar of [inputs] elements."""

    def __init__(self, model: LayerModel, input_record: Record,
                 bias_init: Initializer | None = None, bias_optim: Optim = None,
                 name: str = "add_bias") -> None:
        super().__init__(model, name, input_record)
        shape = require_shape(input_record)
        self.b = self.create_param(
            param_name="b", shape=[shape[0]], initializer=bias_init or uniform_filler(shape[0]),
            optimizer=bias_optim)
        self.output_schema = schema.Scalar(
            (input_record.field_type().base, (shape[0],)), self.get_next_blob_reference("output"))

    def add_ops(self, net: core.Net) -> None:
        """Adds Add."""
        net.Add(self.input_record.field_blobs() + [self.b], self.output_schema.field_blobs(),
                broadcast=1)
