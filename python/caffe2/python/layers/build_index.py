"""Numbers of keys that are seen in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from caffe2.python import core, schema
from caffe2.python.layers._inputs import object_param, require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class MapToRange(ModelLayer):
    """A Struct of `indices`, int64 in [0, max_index), and `handler`, the index. Training numbers
    keys from 1 on, in the order in which it reads them. Evaluation and prediction freeze the index:
    from then on new keys get 0."""

    def __init__(self, model: LayerModel, input_record: Record, max_index: int,
                 name: str = "map_to_range", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert max_index > 0, f"max_index must be above 0, not {max_index}"
        require_scalar(input_record)
        self.max_index = max_index
        self.handler = object_param(self, "handler", "LongIndexCreate", max_elements=max_index)
        self.output_schema = schema.Struct(
            ("indices", schema.Scalar(np.int64, self.get_next_blob_reference("indices"))),
            ("handler", schema.Scalar(np.void, self.handler)))

    def add_train_ops(self, net: core.Net) -> None:
        """Adds IndexGet."""
        keys = self.input_record
        if keys.field_type().base == np.int64:
            keys = keys()
        else:
            keys = net.Cast(keys(), net.NextScopedBlob("indices_before_mapping"),
                            to=core.DataType.INT64)
        indices = net.IndexGet([self.handler, keys], self.output_schema.indices())
        net.StopGradient(indices, indices)

    def add_eval_ops(self, net: core.Net) -> None:
        """Adds IndexFreeze and IndexGet."""
        net.IndexFreeze(self.handler, self.handler)
        self.add_train_ops(net)

    def add_ops(self, net: core.Net) -> None:
        """Adds the operators of evaluation."""
        self.add_eval_ops(net)
