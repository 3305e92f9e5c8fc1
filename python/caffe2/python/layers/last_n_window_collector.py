"""The last rows of a stream."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python.layers._inputs import collected_rows, constant_param, require_scalar
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class LastNWindowCollector(ModelLayer):
    """A Struct of `last_n`, the last `num_to_collect` rows of a Scalar over all runs (the operator
    PackRecords turns a record into a Scalar), `num_visited`, the number of rows so far, and
    `mutex`."""

    def __init__(self, model: LayerModel, input_record: Record, num_to_collect: int,
                 name: str = "last_n_window_collector", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert num_to_collect > 0, f"num_to_collect must be above 0, not {num_to_collect}"
        require_scalar(input_record)
        self.num_to_collect = num_to_collect
        self.last_n, self.num_visited_blob, self.mutex, self.output_schema = collected_rows(
            self, "last_n", input_record)
        self.next_blob = constant_param(self, "next", 0, core.DataType.INT32, shape=())

    def add_ops(self, net: core.Net) -> None:
        """Adds the operator of the same name."""
        net.LastNWindowCollector(
            [self.last_n, self.next_blob, self.input_record(), self.mutex, self.num_visited_blob],
            [self.last_n, self.next_blob, self.num_visited_blob],
            num_to_collect=self.num_to_collect)
