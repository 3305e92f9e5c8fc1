"""Rows of a record."""

from __future__ import annotations

from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers.layers import LayerModel, ModelLayer, Record


class GatherRecord(ModelLayer):
    """The rows of `record`, of any nesting, that `indices` (one-dimensional) lists. A List keeps
    all items of these rows: with indices [2], lengths [0, 1, 2] and items [0, 1, 2] become [2] and
    [1, 2]."""

    def __init__(self, model: LayerModel, input_record: Record, name: str = "gather_record",
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert "indices" in input_record and "record" in input_record, (
            f"the input needs the fields indices and record, and has {input_record.field_names()}")
        self.output_schema = schema.NewRecord(model.net, input_record.record.clone_schema())
        self._indices = input_record.indices()

    def _gather_scalar(self, net, record, lengths_blob, output_record):
        if lengths_blob is None:
            net.Gather([record(), self._indices], output_record())
        else:
            net.LengthsGather([record(), lengths_blob, self._indices], output_record())

    def _gather_list(self, net, record, lengths_blob, output_record):
        self._gather_scalar(net, record.lengths, lengths_blob, output_record.lengths)
        lengths = record.lengths()
        if lengths_blob is not None:
            lengths = self._nested_lengths(net, lengths, lengths_blob)
        self._gather(net, record.items, lengths, output_record.items)

    @staticmethod
    def _nested_lengths(net, lengths, outer_lengths):
        """The total number of items in the lists of each row; LengthsSum takes floats only."""
        as_float = net.Cast(lengths, net.NextScopedBlob(f"{lengths}_float"),
                            to=core.DataType.FLOAT)
        sums = net.LengthsSum([as_float, outer_lengths],
                              net.NextScopedBlob(f"{lengths}_nested_float"))
        return net.Cast(sums, net.NextScopedBlob(f"{lengths}_nested"), to=core.DataType.INT32)

    def _gather(self, net, record, lengths_blob, output_record):
        """Adds the operators that gather a field; `lengths_blob`: the number of its entries in each
        row, None for one."""
        if isinstance(record, schema.Scalar):
            self._gather_scalar(net, record, lengths_blob, output_record)
        elif isinstance(record, schema.Struct):
            for name, field in record.get_children():
                self._gather(net, field, lengths_blob, output_record[name])
        elif isinstance(record, schema.List):
            self._gather_list(net, record, lengths_blob, output_record)
        else:
            raise NotImplementedError(f"cannot gather rows of {record!r}")

    def add_ops(self, net: core.Net) -> None:
        """Adds Gather and LengthsGather."""
        self._gather(net, self.input_record.record, None, self.output_schema)
