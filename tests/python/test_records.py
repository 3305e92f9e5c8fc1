"""Schemas, readers and writers, queues."""

import os
import pickle
import signal
import threading

import numpy as np
import pytest

from caffe2.python import core, dataio, queue_util, record_queue, schema, workspace
from caffe2.python.schema import List, Map, Metadata, Scalar, Struct


def nested():
    return Struct(
        ("dense", Scalar((np.float32, (2, 3)))),
        ("sparse", Map(np.int64, np.float32)),
        ("deep", Struct(("lists", List(List(Scalar(str)))), ("id", np.int32))))


NESTED_COLUMNS = [
    "dense", "sparse:lengths", "sparse:values:keys", "sparse:values:values", "deep:lists:lengths",
    "deep:lists:values:lengths", "deep:lists:values:values", "deep:id"]


def test_columns_of_a_schema():
    record = nested()
    assert record.field_names() == NESTED_COLUMNS
    types = record.field_types()
    assert types[0] == np.dtype((np.float32, (2, 3))) and types[0].shape == (2, 3)
    assert types[1] == np.int32 and types[2] == np.int64 and types[6] == np.dtype(str)
    assert [scalar.id() for scalar in record.all_scalars()] == list(range(8))
    assert record.deep.id.id() == 7
    assert not record.has_blobs()
    with pytest.raises(ValueError, match="no blob"):
        record.field_blobs()


def test_fields_are_reached_by_name_and_place():
    record = nested()
    assert record["sparse:values:keys"] == record.sparse.keys == Scalar(np.int64)
    assert record["sparse:lengths"] is record.sparse.lengths
    assert record[0] is record.dense
    assert record["deep", "dense"].field_names() == [*NESTED_COLUMNS[4:], "dense"]
    assert record.get("deep:absent") is None and "deep:id" in record
    assert [field for field in record][1] is record.sparse and len(record) == 3
    for absent in ("absent", "dense:values", "sparse:keys", "deep:id:x"):
        with pytest.raises(KeyError):
            record[absent]
    with pytest.raises(AttributeError):
        record.absent  # noqa: B018
    with pytest.raises(TypeError, match="cannot be assigned"):
        record.dense = Scalar()


def test_copies_are_equal_and_separate():
    record = nested()
    for copy in (record.clone(), pickle.loads(pickle.dumps(record))):
        assert copy == record and copy is not record
        copy.dense.set_type(np.float64)
        assert copy != record

    class Special(List):
        pass

    special = Special(Scalar())
    assert type(special.clone()) is Special
    assert schema.RawTuple(2) == Struct(("field_0", Scalar()), ("field_1", Scalar()))
    assert schema.Tuple(np.int32, str)[1, 0] == Struct(("field_1", str), ("field_0", np.int32))


def test_structs_are_added_and_subtracted():
    a, b = Scalar(np.int32), Scalar(np.float32)
    left = Struct(("x", a), ("s:y", b))
    assert left + Struct(("s", Struct(("z", a)))) == Struct(
        ("x", a), ("s", Struct(("y", b), ("z", a))))
    with pytest.raises(TypeError, match="only Structs can be merged"):
        left + Struct(("x", b))
    assert left - Struct(("s:y", b)) == Struct(("x", a))
    assert left - Struct(("other", b)) == left
    with pytest.raises(TypeError, match="cannot remove"):
        left - Struct(("s", b))


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match="two fields have the name a"):
        Struct(("a", Scalar()), ("a", Scalar()))
    with pytest.raises(TypeError, match="a Scalar and a Struct"):
        Struct(("a", Scalar()), ("a:b", Scalar()))


def test_lists_with_evicted_values():
    blobs = [core.BlobReference(name) for name in ("n", "v", "e")]
    window = schema.ListWithEvicted(Scalar(np.float32, blobs[1]), *blobs[::2])
    record = Struct(("window", window))
    names = ["window:lengths", "window:values", "window:_evicted_values"]
    assert record.field_names() == names
    assert record.field_blobs() == blobs
    assert [t.base for t in record.field_types()] == [np.int32, np.float32, np.int64]
    assert record["window:_evicted_values"]() == "e"
    assert record.clone_schema() == record and not record.clone_schema().has_blobs()
    again = schema.from_column_list(names[::-1], record.field_types()[::-1], blobs[::-1])
    assert isinstance(again.window, schema.ListWithEvicted) and again == record
    with pytest.raises(TypeError, match="Scalar"):
        schema.ListWithEvicted(np.float32, evicted_values=Struct(("a", np.int64)))


def test_columns_in_any_order_make_the_schema():
    record = nested()
    order = np.random.RandomState(1).permutation(len(NESTED_COLUMNS))
    names = [NESTED_COLUMNS[i] for i in order]
    blobs = [core.BlobReference("blob_" + name) for name in names]
    built = schema.from_column_list(names, [record.field_types()[i] for i in order], blobs)
    assert sorted(built.field_names()) == sorted(NESTED_COLUMNS)
    assert [str(b) for b in built.field_blobs()] == ["blob_" + n for n in built.field_names()]
    assert isinstance(built.deep.lists, List) and isinstance(built.deep.lists.items, List)
    assert schema.from_column_list([]) == Struct()
    for bad in (["a", "a"], ["a", "a:b"]):
        with pytest.raises(ValueError):
            schema.from_column_list(bad)
    with pytest.raises(ValueError, match="types"):
        schema.from_column_list(["a"], [np.int32, np.int32])


def test_types_of_scalars():
    assert Scalar(np.void) == Scalar(None)
    assert Scalar((np.int32, 5)).field_type().shape == (5,)
    assert Scalar((np.int32, 1)).field_type().shape == (1,)
    with pytest.raises(TypeError, match="unknown type"):
        Scalar((np.void, (2,)))
    with pytest.raises(ValueError):
        Scalar((np.int32, -1))
    with pytest.raises(TypeError, match="from_dtype"):
        Scalar(np.dtype([("a", np.int32)]))
    structured = np.dtype([("a", np.int32), ("b", [("c", np.float32, (2,))], (3,))])
    assert schema.from_dtype(structured) == Struct(
        ("a", np.int32), ("b", Struct(("c", Scalar((np.float32, (3, 2)))))))
    data = Scalar(np.int64, [[1, 2], [3, 4]])
    assert data.field_type().shape == (2,) and data().dtype == np.int64
    assert schema.data_type_for_dtype(np.float16) == core.DataType.FLOAT16
    with pytest.raises(TypeError, match="Unknown dtype"):
        schema.data_type_for_dtype(np.complex64)
    assert schema.dtype_for_core_type(core.DataType.INT64) is np.int64
    column = Scalar(np.int32)
    with pytest.raises(TypeError, match="int32"):
        column.set_value(np.zeros(2), throw_on_type_mismatch=True)


def test_metadata(caplog):
    record = nested()
    schema.attach_metadata_to_scalars(record.sparse.lengths, Metadata(expected_value=3))
    assert record.field_metadata()[1].expected_value == 3
    assert record.clone().sparse.lengths.metadata.expected_value == 3
    assert not schema.equal_schemas(record, nested(), check_field_metas=True)
    record.deep.id.set_metadata(Metadata(categorical_limit=10))
    with pytest.raises(ValueError, match="integral"):
        record.dense.set_metadata(Metadata(categorical_limit=10))
    record.dense.set(np.int32)
    assert "unsafe" in caplog.text, "as in Caffe2 a warning, no more"
    assert record.dense.field_type() == np.int32
    caplog.clear()
    record.dense.set(np.float32, unsafe=True)
    assert not caplog.text


def test_records_are_fed_and_fetched():
    net = core.Net("records")
    with core.NameScope("scope"):
        record = schema.NewRecord(net, nested())
    assert str(record.deep.id()) == "scope/deep:id"
    arrays = [
        np.arange(12, dtype=np.float32).reshape(2, 2, 3), [1, 2], [7, 8, 9],
        np.float32([1, 2, 3]), [1, 0], [2], np.array([b"a", b"b"], dtype=object), [5, 6]]
    schema.FeedRecord(record, arrays)
    fetched = schema.FetchRecord(record)
    for array, expected in zip(fetched.field_blobs(), arrays):
        np.testing.assert_array_equal(array, expected)
    assert fetched.sparse.keys().dtype == np.int64
    empty = schema.InitEmptyRecord(net, nested())
    constant = schema.ConstRecord(net, Struct(("c", Scalar(np.int32, [1, 2]))))
    workspace.RunNetOnce(net)
    assert schema.FetchRecord(empty).dense().shape == (0, 2, 3)
    np.testing.assert_array_equal(schema.FetchRecord(constant).c(), [1, 2])
    with pytest.raises(TypeError):
        schema.InitEmptyRecord(net, Struct(("unknown", Scalar())), enforce_types=True)
    with pytest.raises(ValueError, match="8 elements"):
        schema.from_blob_list(record, arrays[:3])


def run_reader(reader, consume, threads=1):
    """Reads to the end, in threads; calls consume(list of arrays) for each record."""
    init, finish = core.Net("init"), core.Net("finish")
    reader.setup_ex(init, finish)
    steps = []
    for i in range(threads):
        local_init, local_finish = core.Net(f"local_init_{i}"), core.Net(f"local_finish_{i}")
        nets, stop, fields = reader.read_ex(local_init, local_finish)
        use = core.Net(f"use_{i}")
        use.Python(lambda inputs, outputs: consume([blob.data.copy() for blob in inputs]))(
            fields, [])
        body = core.execution_step(f"body_{i}", [*nets, use], should_stop_blob=stop)
        steps.append(core.execution_step(f"thread_{i}", [
            core.execution_step(f"begin_{i}", local_init), body,
            core.execution_step(f"end_{i}", local_finish)]))
    plan = core.Plan("read")
    plan.AddStep(core.execution_step("start", init))
    plan.AddStep(core.execution_step("work", steps, concurrent_substeps=True))
    plan.AddStep(core.execution_step("stop", finish))
    workspace.RunPlan(plan)


@pytest.mark.parametrize("threads", [1, 3])
def test_counter_with_limit(threads):
    seen = []
    reader = dataio.ReaderWithLimit(dataio.CounterReader(), num_iter=10)
    run_reader(reader, lambda record: seen.append(int(record[0])), threads)
    assert sorted(seen) == list(range(10))
    assert not workspace.FetchBlob(reader.data_finished())


class ListReader(dataio.Reader):
    """Reads the numbers of a list."""

    def __init__(self, values):
        dataio.Reader.__init__(self, Struct(("value", np.int64)))
        self.values = list(values)

    def read(self, net):
        def step(inputs, outputs):
            outputs[0].feed(np.array(not self.values))
            outputs[1].feed(np.array([self.values.pop(0) if self.values else -1]))

        stop, value = net.Python(step)([], 2)
        return stop, [value]


def test_limit_beyond_the_data_ends_with_it():
    seen = []
    reader = dataio.ReaderWithLimit(ListReader([3, 1, 2]), num_iter=10)
    run_reader(reader, lambda record: seen.append(int(record[0][0])))
    assert seen == [3, 1, 2]
    assert workspace.FetchBlob(reader.data_finished())


def test_time_limit_and_delay():
    seen = []
    reader = dataio.ReaderWithTimeLimit(
        dataio.ReaderWithDelay(dataio.CounterReader(), 0.01), duration=0.1)
    run_reader(reader, lambda record: seen.append(int(record[0])))
    assert 1 <= len(seen) <= 11 and seen == list(range(len(seen)))


def test_composite_reader():
    seen = []
    reader = dataio.CompositeReader(["a", "b"], [ListReader([1, 2, 3]), ListReader([4, 5])])
    assert reader.schema().field_names() == ["a:value", "b:value"]
    run_reader(reader, lambda record: seen.append([int(array[0]) for array in record]))
    assert seen == [[1, 4], [2, 5]]
    with pytest.raises(ValueError, match="one name for each of the 0 readers, found 1"):
        dataio.CompositeReader(["a"], [])


def test_builders_make_readers():
    class Builder(dataio.ReaderBuilder):
        def schema(self):
            return Struct(("value", np.int64))

        def setup(self, **kwargs):
            return {"ready": True}

        def new_reader(self, **kwargs):
            return ListReader(range(kwargs["count"]))

    piped = dataio.PipedReaderBuilder(
        Builder(), lambda reader, count: dataio.ReaderWithLimit(reader, count - 1))
    assert piped.schema() == Builder().schema() and piped.setup() == {"ready": True}
    seen = []
    run_reader(piped.new_reader(count=4), lambda record: seen.append(int(record[0][0])))
    assert seen == [0, 1, 2]
    both = dataio.CompositeReaderBuilder(["a", "b"], [Builder(), piped])
    assert both.schema().field_names() == ["a:value", "b:value"]
    assert both.setup() == {"ready": True}
    assert isinstance(both.new_reader(count=2), dataio.CompositeReader)


def test_reader_without_reading_says_so():
    with pytest.raises(NotImplementedError):
        dataio.Reader().read(core.Net("none"))
    with pytest.raises(ValueError, match="Schema"):
        dataio.Reader().schema()
    with pytest.raises(TypeError):
        dataio.Reader(schema=3)


def test_queue_hands_records_from_writers_to_readers():
    queue = queue_util.Queue(2, schema=Struct(("value", np.int64)), num_dequeue_records=2)
    setup = core.Net("setup")
    queue.setup(setup)
    workspace.RunNetOnce(setup)
    source, writer = ListReader(range(7)), queue.writer()
    local_init, local_finish = core.Net("local_init"), core.Net("local_finish")
    writer.setup_ex(local_init, local_finish)
    nets, stop, fields = source.read_record_ex(local_init, local_finish)
    write_nets, status = writer.write_record_ex(fields, local_init, local_finish, stop)
    reader = queue.reader()
    read_nets, end, record = reader.read_record_ex(core.Net("i"), core.Net("f"))
    seen = []
    use = core.Net("use")
    use.Python(lambda inputs, outputs: seen.extend(inputs[0].data.tolist()))(
        record.field_blobs(), [])
    plan = core.Plan("pass_on")
    plan.AddStep(core.execution_step("start", local_init))
    produce = core.execution_step("produce", [
        core.execution_step("write", [*nets, *write_nets], should_stop_blob=stop),
        core.execution_step("close", local_finish)])
    consume = core.execution_step("consume", [*read_nets, use], should_stop_blob=end)
    plan.AddStep(core.execution_step("work", [produce, consume], concurrent_substeps=True))
    workspace.RunPlan(plan)
    assert seen == list(range(7))
    assert queue.num_writers() == 1 and queue.num_readers() == 1


def test_same_blob_twice_is_copied_to_the_queue():
    net = core.Net("twice")
    queue = net.CreateBlobsQueue([], 1, capacity=2, num_blobs=2)
    data = net.ConstantFill([], 1, shape=[2], value=3.0)
    queue_util.enqueue(net, queue, [data, data])
    (first, second), status = queue_util.dequeue(net, queue, 2)
    workspace.RunNetOnce(net)
    for blob in (first, second):
        np.testing.assert_array_equal(workspace.FetchBlob(blob), [3, 3])
    assert not workspace.FetchBlob(status)


def test_failed_producer_frees_the_waiting_consumer():
    workspace.RunOperatorOnce(core.CreateOperator("CreateBlobsQueue", [], ["queue"]))

    def fail(inputs, outputs):
        raise ValueError("planned failure")

    producer, consumer = core.Net("producer"), core.Net("consumer")
    producer.Python(fail)([], [])
    consumer.DequeueBlobs(["queue"], ["value"])
    plan = core.Plan("failing")
    plan.AddStep(core.execution_step("both", [
        core.execution_step("p", producer), core.execution_step("c", consumer)],
        concurrent_substeps=True))
    with pytest.raises(ValueError, match="planned failure"):
        workspace.RunPlan(plan)


def test_close_queue_step():
    workspace.RunOperatorOnce(core.CreateOperator("CreateBlobsQueue", [], ["queue"]))
    net = core.Net("fill")
    net.ConstantFill([], "x", shape=[1])
    net.EnqueueBlobs(["queue", "x"], ["x"])
    plan = core.Plan("closing")
    plan.AddStep(queue_util.close_queue(core.execution_step("work", net), "queue"))
    workspace.RunPlan(plan)
    status = core.Net("status")
    status.SafeDequeueBlobs("queue", ["y", "end"])
    for expected in (False, True):
        workspace.RunNetOnce(status)
        assert workspace.FetchBlob("end") == expected


def test_record_queue_processes_in_threads():
    source = ListReader(range(20))
    queue = record_queue.RecordQueue(source.schema(), capacity=3, num_threads=3)

    def double(net, record):
        return schema.from_blob_list(record, [net.Add([record.value(), record.value()])])

    reader, produce, close, record = queue.build(source, double)
    assert record.field_names() == ["value"]
    seen, consumers = [], []
    for i in range(2):
        read, use = core.Net(f"read_{i}"), core.Net(f"use_{i}")
        stop, fields = reader.read(read)
        use.Python(lambda inputs, outputs: seen.append(int(inputs[0].data[0])))(fields, [])
        consumers.append(core.execution_step(f"consume_{i}", [read, use], should_stop_blob=stop))
    plan = core.Plan("record_queue")
    plan.AddStep(core.execution_step("work", [
        core.execution_step("producer", [produce, close]), *consumers], concurrent_substeps=True))
    workspace.RunPlan(plan)
    assert sorted(seen) == list(range(0, 40, 2))
    with pytest.raises(ValueError, match="positive"):
        record_queue.RecordQueue(source.schema(), num_threads=0)


def test_interrupt_ends_waiting_for_a_queue():
    workspace.RunOperatorOnce(core.CreateOperator("CreateBlobsQueue", [], ["queue"]))
    net = core.Net("waiting")
    net.DequeueBlobs(["queue"], ["value"])
    plan = core.Plan("waiting_plan")
    plan.AddStep(core.execution_step("own_workspace", net, create_workspace=True))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        workspace.RunPlan(plan)
    timer.join()
