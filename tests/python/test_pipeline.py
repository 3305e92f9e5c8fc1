"""Pipelines of tasks."""

import numpy as np
import pytest

from caffe2.python import core, dataio, queue_util, schema, workspace
from caffe2.python.net_builder import ops
from caffe2.python.pipeline import (
    NetProcessor,
    Output,
    ProcessingReader,
    pipe,
    pipe_and_output,
)
from caffe2.python.schema import Struct
from caffe2.python.session import LocalSession
from caffe2.python.task import TaskGroup

VALUE = Struct(("value", np.int64))


class Numbers(dataio.Reader):
    """Reads 0, 1, ..., count - 1, each once over all threads."""

    def __init__(self, count):
        dataio.Reader.__init__(self, VALUE)
        self.numbers = list(range(count))

    def read(self, net):
        def step(inputs, outputs):
            # One call under the interpreter's lock.
            number = self.numbers.pop(0) if self.numbers else -1
            outputs[0].feed(np.array(number < 0))
            outputs[1].feed(np.array([number], np.int64))

        stop, value = net.Python(step)([], 2)
        return stop, [value]


class Collector(dataio.Writer):
    """Keeps what is written."""

    def __init__(self):
        self.values = []

    def write(self, net, fields):
        net.Python(lambda inputs, outputs: self.values.append(int(inputs[0].data[0])))(fields, [])


@pytest.mark.parametrize("threads", [
    {"num_threads": 1}, {"num_threads": 3}, {"num_runtime_threads": 3}])
def test_pipe_processes_records_in_threads(threads):
    def double(record):
        return Struct(("value", ops.Add([record.value(), record.value()])))

    target = Collector()
    with TaskGroup() as group:
        queue = pipe(Numbers(50), processor=double, **threads)
        assert isinstance(queue, queue_util.Queue)
        assert pipe(queue, output=target, num_threads=2) is None
    LocalSession().run(group)
    assert sorted(target.values) == list(range(0, 100, 2))


def test_pipe_runs_copies_of_a_net():
    net = core.Net("square")
    record = net.set_input_record(schema.NewRecord(net, VALUE))
    net.set_output_record(Struct(("square", net.Mul([record.value(), record.value()]))))
    target, processor = Collector(), NetProcessor(net)
    with TaskGroup() as group:
        queue = pipe(Numbers(10), processor=processor, num_threads=2, capacity=3)
        pipe(queue, output=target)
    LocalSession().run(group)
    assert sorted(target.values) == [i * i for i in range(10)]
    assert len(processor.blob_maps()) == 2
    with pytest.raises(RuntimeError, match="no more copies"):
        processor(record)


def test_processor_may_stop_and_outputs_are_returned():
    workspace.FeedBlob("total", np.zeros(1, np.int64))
    total = core.BlobReference("total")

    def add_up(record):
        ops.Add([total, record.value()], [total])
        limit = ops.Const(np.array(10, np.int64))
        return Output(should_stop=ops.GE([ops.SumElementsInt([ops.Cast(
            total, to=core.DataType.INT32)]), ops.Cast(limit, to=core.DataType.INT32)]))

    with TaskGroup() as group:
        _, output = pipe_and_output(Numbers(10), processor=add_up, final_outputs=total)
    LocalSession().run(group)
    assert output.fetch().tolist() == [10]  # 0 + 1 + 2 + 3 + 4


def test_a_failing_processor_ends_all_tasks():
    def fail(record):
        def body(inputs, outputs):
            raise ValueError("planned failure")

        ops.Python(body)([record.value()], [])
        return record

    with TaskGroup() as group:
        pipe(pipe(Numbers(10), processor=fail), output=Collector(), num_threads=2)
    with pytest.raises(ValueError, match="planned failure"):
        LocalSession().run(group)


def test_without_threads_pipe_returns_a_reader():
    reader = pipe(Numbers(3), processor=lambda record: record, num_threads=0)
    assert isinstance(reader, ProcessingReader)
    with pytest.raises(ValueError, match="Input must be"):
        pipe(3)
    with TaskGroup(), pytest.raises(ValueError, match="capacity"):
        pipe(Numbers(3), output=queue_util.Queue(3), capacity=4)
