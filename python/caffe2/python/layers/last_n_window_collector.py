"""The last rows of a stream."""

from caffe2.python import core, schema
from caffe2.python.layers._inputs import constant_param, object_param, require_scalar
from caffe2.python.layers.layers import ModelLayer


class LastNWindowCollector(ModelLayer):
    """A Struct of `last_n`, the last `num_to_collect` rows of a Scalar (the operator PackRecords
    makes one of a record) over all runs, `num_visited`, their number, and `mutex`."""

    def __init__(self, model, input_record, num_to_collect, name="last_n_window_collector",
                 **kwargs):
        super().__init__(model, name, input_record, **kwargs)
        assert num_to_collect > 0, f"num_to_collect must be above 0, not {num_to_collect}"
        require_scalar(input_record)
        self.num_to_collect = num_to_collect
        self.last_n = self.create_param(
            param_name="last_n", shape=[0], initializer=("ConstantFill", {}),
            optimizer=model.NoOptim)
        self.next_blob = constant_param(self, "next", 0, core.DataType.INT32, shape=())
        self.mutex = object_param(self, "mutex", "CreateMutex")
        self.num_visited_blob = constant_param(
            self, "num_visited", 0, core.DataType.INT64, shape=())
        self.output_schema = schema.Struct(
            ("last_n", schema.from_blob_list(input_record, [self.last_n])),
            ("num_visited", schema.Scalar(blob=self.num_visited_blob)),
            ("mutex", schema.Scalar(blob=self.mutex)))

    def add_ops(self, net):
        """Adds the operator of the same name."""
        net.LastNWindowCollector(
            [self.last_n, self.next_blob, self.input_record(), self.mutex, self.num_visited_blob],
            [self.last_n, self.next_blob, self.num_visited_blob],
            num_to_collect=self.num_to_collect)
