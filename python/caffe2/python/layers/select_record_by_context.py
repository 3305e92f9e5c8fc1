"""Different inputs for different kinds of nets."""

from __future__ import annotations

from typing import Any

from caffe2.python import core, schema
from caffe2.python.layers.layers import (
    InstantiationContext,
    LayerModel,
    ModelLayer,
    Record,
)


class SelectRecordByContext(ModelLayer):
    """Of a Struct of records with equal schemas, the one with the name of the InstantiationContext,
    or else `default_output_record_field`. Shares its blobs, or with `use_copy` copies them."""

    def __init__(self, model: LayerModel, input_record: Record,
                 name: str = "select_record_by_context", check_field_metas: bool = True,
                 use_copy: bool = False, default_output_record_field: str | None = None,
                 **kwargs: Any) -> None:
        super().__init__(model, name, input_record, **kwargs)
        assert isinstance(input_record, schema.Struct) and len(input_record) > 1, (
            f"expected a Struct of several records, not {input_record!r}")
        self.use_copy = use_copy
        self.default_output_record = None
        if default_output_record_field is not None:
            self.default_output_record = input_record[default_output_record_field]
        for record in input_record:
            assert schema.equal_schemas(record, input_record[0],
                                        check_field_metas=check_field_metas), (
                f"the records\n{record}\nand\n{input_record[0]}\ndiffer")
        self.output_schema = schema.NewRecord(model.net, input_record[0])

    def _set_output_blobs(self, net, context):
        record = self.input_record.get(context, self.default_output_record)
        assert record is not None, (
            f"{context} context is not in input record without providing default output")
        pass_on = net.Copy if self.use_copy else net.Alias
        for source, target in zip(record.field_blobs(), self.output_schema.field_blobs()):
            pass_on(source, target)

    def add_ops(self, net: core.Net) -> None:
        """Adds the record of prediction."""
        self._set_output_blobs(net, InstantiationContext.PREDICTION)

    def add_eval_ops(self, net: core.Net) -> None:
        """Adds the record of evaluation."""
        self._set_output_blobs(net, InstantiationContext.EVAL)

    def add_train_ops(self, net: core.Net) -> None:
        """Adds the record of training."""
        self._set_output_blobs(net, InstantiationContext.TRAINING)

    def add_ops_to_accumulate_pred(self, net: core.Net) -> None:
        """Adds the record of nets that keep predictions."""
        self._set_output_blobs(net, InstantiationContext.ACCUMULATE_PRED)
