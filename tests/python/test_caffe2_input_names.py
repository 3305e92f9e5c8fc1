"""Names that scripts written for Caffe2 use: readers, workers, optimizers and memory."""

import queue

import numpy as np
import pytest

from caffe2.proto import caffe2_pb2
from caffe2.python import (
    cnn,
    core,
    crf,
    data_workers,
    dataio,
    functional,
    memonger,
    optimizer,
    parallel_workers,
    workspace,
)
from caffe2.python.cached_reader import CachedReader
from caffe2.python.dataset import Dataset
from caffe2.python.db_file_reader import DBFileReader
from caffe2.python.model_helper import ModelHelper
from caffe2.python.schema import FeedRecord, NewRecord, Struct


def filled_dataset(values):
    net = core.Net("fill")
    record = NewRecord(net, Struct(("x", np.int64)))
    FeedRecord(record, [np.array(values, np.int64)])
    return Dataset(record, "filled")


def test_count_until():
    reader = dataio.CountUntil(3)
    init, local, finish = (core.Net(name) for name in ("init", "local", "finish"))
    reader.setup_ex(init, finish)
    nets, should_stop, (number,) = reader.read_ex(local, finish)
    for net in (init, local):
        workspace.RunNetOnce(net)
    seen = []
    while True:
        for net in nets:
            workspace.RunNetOnce(net)
            if net is nets[0] and workspace.FetchBlob(should_stop):
                assert seen == [0, 1, 2]
                return
        seen.append(int(workspace.FetchBlob(number)))


def test_readers_take_caffe2s_keywords(tmp_path):
    path = str(tmp_path / "rows.db")
    source = filled_dataset([3, 5, 7])
    reader = CachedReader(original_reader=source.reader(), db_path=path, db_type="minidb")
    assert reader.name == "rows.db_cached_reader"
    plan = core.Plan("cache")
    plan.AddStep(reader.build_cache_step())
    assert workspace.RunPlan(plan)
    assert DBFileReader(path, "minidb").name == "rows.db_db_file_reader"

    class Mine(DBFileReader):
        default_name_suffix = "mine"

    assert Mine(path, "minidb").name == "rows.db_mine"


def test_random_reader_may_be_set_up_later():
    data = filled_dataset([10, 11, 12])
    workspace.FeedBlob("order", np.int64([2, 0, 1]))
    reader = data.random_reader(indices=core.BlobReference("order"))
    init, read = core.Net("init"), core.Net("read")
    reader.setup_ex(init, None)
    reader.computeoffset(init)
    _, (x,) = reader.read(read)
    workspace.RunNetOnce(init)
    workspace.CreateNet(read)
    seen = []
    for _ in range(3):
        workspace.RunNet(read)
        seen += workspace.FetchBlob(x).tolist()
    assert seen == [12, 10, 11]


def test_parts_of_data_workers():
    assert data_workers.get_worker_ids(3) == [0, 1, 2]
    assert data_workers.LOG_INT_SECS == parallel_workers.LOG_INT_SECS == 60
    assert isinstance(data_workers.global_coordinator, data_workers.GlobalCoordinator)
    net, metrics = core.Net("reads"), parallel_workers.Metrics(None)
    feeder = data_workers.BatchFeeder(
        net, ["x"], 2, None, "part/", "parts", queue.Queue(maxsize=4), metrics, False, None,
        timeout=30)
    coordinator = parallel_workers.WorkerCoordinator("parts", [0], None, feeder)
    asked = []

    def fetch(worker_id, batch_size):
        asked.append(batch_size)
        return [np.arange(3, dtype=np.float32)]

    worker = data_workers.DataWorker(
        coordinator, 0, worker_fun=fetch, metrics=metrics, batch_size=2, batch_feeder=feeder)
    worker.start()
    worker.run()
    worker.finish()
    coordinator.add_thread(data_workers.enqueuer, coordinator, feeder)
    coordinator.start()
    workspace.CreateNet(net)
    workspace.RunNet(net)
    np.testing.assert_array_equal(workspace.FetchBlob("part/x"), [0, 1])
    coordinator.request_stop()
    assert coordinator.wait_finish()
    assert asked == [2]


def test_shutdown_handler_is_registered_once(monkeypatch):
    registered = []
    monkeypatch.setattr(parallel_workers.atexit, "register", registered.append)
    coordinator = data_workers.GlobalCoordinator()
    coordinator.register_shutdown_handler()
    coordinator.start()
    assert registered == [coordinator.stop]


def test_duplicates_of_a_sparse_gradient():
    workspace.FeedBlob("indices", np.int64([4, 1, 4]))
    workspace.FeedBlob("values", np.float32([[1], [2], [3]]))
    net = core.Net("dedup")
    grad = core.GradientSlice(core.BlobReference("indices"), core.BlobReference("values"))
    assert optimizer.Optimizer.dedup(net, None, grad) is grad
    joined = optimizer.Optimizer.dedup(net, "sum", grad)
    workspace.RunNetOnce(net)
    rows = dict(zip(workspace.FetchBlob(joined.indices).tolist(),
                    workspace.FetchBlob(joined.values)[:, 0].tolist()))
    assert rows == {4: 4.0, 1: 2.0}
    with pytest.raises(TypeError, match="sparse gradient, not 'dense'"):
        optimizer.Optimizer.dedup(net, "sum", "dense")


def test_base_of_optimizers():
    base = optimizer.Optimizer()
    with pytest.raises(NotImplementedError, match="Optimizer has no scale_learning_rate"):
        base.scale_learning_rate(0.5)
    net = core.Net("lars")
    blobs = base.create_lars_inputs(net, weight_decay=0.1, trust=0.2, lr_max=0.3)
    workspace.RunNetOnce(net)
    values = [workspace.FetchBlob(name) for name in ("weight_decay", "trust", "lr_max")]
    assert [str(blob) for blob in blobs] == ["weight_decay", "trust", "lr_max"]
    np.testing.assert_allclose(values, [[0.1], [0.2], [0.3]], rtol=1e-6)


def test_ranges_without_gaps():
    LiveRange = memonger.LiveRange
    ranges = [("a", LiveRange(None, 2, None)), ("b", LiveRange(0, None, 8))]
    assert memonger.get_updated_ranges(ranges) == [
        ("a", LiveRange(-1, 2, 1)), ("b", LiveRange(0, 3, 8))]
    assert memonger.get_updated_ranges(ranges, max_live=9)[1][1].used == 9


def test_assignments_are_verified():
    LiveRange = memonger.LiveRange
    first, second = ("a", LiveRange(0, 2, 1)), ("b", LiveRange(3, 4, 1))
    memonger.verify_assignments([[first, second], [("c", LiveRange(0, 9, 1))]])
    with pytest.raises(ValueError, match="c is written at 2, but a .* is used until 2"):
        memonger.verify_assignments([[first, ("c", LiveRange(2, 4, 1))]])


def test_blobs_of_step_nets_are_renamed():
    step = caffe2_pb2.NetDef(external_input=["w", "x"], external_output=["y"])
    step.op.add(type="Mul", input=["w", "x"], output=["y"])
    op = core.CreateOperator("RecurrentNetwork", ["w", "z"], ["out"])
    op.arg.add(name="step_net", n=step)
    renamed = {"w": "shared", "elsewhere": "shared"}
    memonger.apply_recurrent_blob_assignments(op, renamed, lambda blob: renamed.get(blob, blob))
    inner = op.arg[0].n
    assert list(inner.op[0].input) == ["shared", "x"]
    assert list(inner.external_input) == ["shared", "x"]
    assert {arg.name: arg.s for arg in op.arg[1:]} == {"w.rename": b"shared"}


def test_schema_of_functional():
    assert functional.OpSchema.get("Relu").max_input == 1


def test_padded_labels():
    workspace.FeedBlob("labels", np.int32([2, 0, 1]))
    model = ModelHelper("crf")
    padded = crf.CRFWithLoss.pad_labels("labels", model.param_init_net, model.net, 3)
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    np.testing.assert_array_equal(workspace.FetchBlob(padded), [3, 2, 0, 1, 4])


def test_methods_of_cnn_model_helper():
    model = cnn.CNNModelHelper()
    x = np.random.default_rng(0).standard_normal((2, 4, 3, 3)).astype(np.float32)
    workspace.FeedBlob("x", x)
    model.SpatialGN("x", "y", 4, group=2, epsilon=0.0)
    workspace.RunNetOnce(model.param_init_net)
    workspace.RunNetOnce(model.net)
    groups = x.reshape(2, 2, -1).astype(np.float64)
    expected = (groups - groups.mean(2, keepdims=True)) / groups.std(2, keepdims=True)
    np.testing.assert_allclose(
        workspace.FetchBlob("y"), expected.reshape(x.shape), rtol=1e-3, atol=1e-4)
    # There is no operator for them, and the error says so.
    for method, operator in ((model.VideoInput, "VideoInput"),
                             (model.MaxPoolWithIndex, "MaxPoolWithIndex")):
        with pytest.raises(AttributeError, match=f"{operator} is not a registered operator"):
            method("x", "z")
