"""A random sample of a stream."""

from __future__ import annotations

from typing import Any

from caffe2.python import core
from caffe2.python.layers._inputs import collected_rows, empty_param, object_param
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class ReservoirSampling(ModelLayer):
    """A Struct of `reservoir`, `num_to_collect` rows drawn from the rows of `data` in all runs (the
    operator PackRecords turns a record into one column), `num_visited`, the number of rows so far,
    and `mutex`. With `object_id` (int64) rows of an object that is in the reservoir are skipped."""

    def __init__(self, model: LayerModel, input_record: Record, num_to_collect: int,
                 name: str = "reservoir_sampling", **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert num_to_collect > 0, f"num_to_collect must be above 0, not {num_to_collect}"
        self.num_to_collect = num_to_collect
        self.reservoir, self.num_visited_blob, self.mutex, self.output_schema = collected_rows(
            self, "reservoir", input_record.data)
        self.places = self._make_places() if "object_id" in input_record else []

    def _make_places(self):
        """Makes the maps between objects and their positions in the reservoir."""
        return [object_param(self, "object_to_pos", "CreateMap", key_dtype=core.DataType.INT64,
                             value_dtype=core.DataType.INT32),
                empty_param(self, "pos_to_object", core.DataType.INT64)]

    def add_ops(self, net: core.Net) -> None:
        """Adds the operator of the same name."""
        state = [self.reservoir, self.num_visited_blob]
        objects = [self.input_record.object_id(), *self.places] if self.places else []
        net.ReservoirSampling(
            [*state, self.input_record.data(), self.mutex, *objects], [*state, *self.places],
            num_to_collect=self.num_to_collect)
