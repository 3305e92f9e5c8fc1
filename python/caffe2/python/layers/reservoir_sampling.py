"""A random sample of a stream."""

from caffe2.python import core, schema
from caffe2.python.layers._inputs import constant_param, object_param
from caffe2.python.layers.layers import ModelLayer


class ReservoirSampling(ModelLayer):
    """A Struct of `reservoir`, `num_to_collect` rows drawn from all that `data` had over all runs
    (the operator PackRecords makes one column of a record), `num_visited`, the number of rows, and
    `mutex`. With `object_id` (int64) a row of an object that is in the reservoir is passed over."""

    def __init__(self, model, input_record, num_to_collect, name="reservoir_sampling", **kwargs):
        super().__init__(model, name, input_record, **kwargs)
        assert num_to_collect > 0, f"num_to_collect must be above 0, not {num_to_collect}"
        self.num_to_collect = num_to_collect
        self.reservoir = self.create_param(
            param_name="reservoir", shape=[0], initializer=("ConstantFill",),
            optimizer=model.NoOptim)
        self.num_visited_blob = constant_param(
            self, "num_visited", 0, core.DataType.INT64, shape=())
        self.mutex = object_param(self, "mutex", "CreateMutex")
        self.extra_input_blobs, self.extra_output_blobs = [], []
        if "object_id" in input_record:
            self.extra_output_blobs = [
                object_param(self, "object_to_pos", "CreateMap", key_dtype=core.DataType.INT64,
                             value_dtype=core.DataType.INT32),
                constant_param(self, "pos_to_object", 0, core.DataType.INT64, shape=[0])]
            self.extra_input_blobs = [input_record.object_id(), *self.extra_output_blobs]
        self.output_schema = schema.Struct(
            ("reservoir", schema.from_blob_list(input_record.data, [self.reservoir])),
            ("num_visited", schema.Scalar(blob=self.num_visited_blob)),
            ("mutex", schema.Scalar(blob=self.mutex)))

    def add_ops(self, net):
        """Adds the operator of the same name."""
        net.ReservoirSampling(
            [self.reservoir, self.num_visited_blob, self.input_record.data(), self.mutex,
             *self.extra_input_blobs],
            [self.reservoir, self.num_visited_blob, *self.extra_output_blobs],
            num_to_collect=self.num_to_collect)
