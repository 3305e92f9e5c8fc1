"""Threads beside the training: parallel_workers and data_workers."""

import threading

import numpy as np
import pytest

from caffe2.python import core, data_workers, parallel_workers, workspace
from caffe2.python.model_helper import ModelHelper


@pytest.fixture(autouse=True)
def no_workers_left():
    yield
    parallel_workers.global_coordinator.stop()


def test_workers_run_until_they_are_stopped():
    seen, enough, told = set(), threading.Event(), []

    def work(worker_id):
        seen.add(worker_id)
        if len(seen) == 3:
            enough.set()

    class Logger:
        def log(self, metrics):
            told.append(metrics)

    order = []
    workers = parallel_workers.init_workers(
        work, num_worker_threads=3, worker_name="own", external_loggers={"mine": Logger()},
        init_fun=lambda coordinator, everything: order.append((coordinator._worker_name, "begin")),
        shutdown_fun=lambda: order.append("end"))
    assert not seen
    workers.start()
    assert enough.wait(30)
    assert workers.stop_coordinator("own")
    assert order == [("own", "begin"), "end"]
    assert told and told[0]["worker_time"] >= 0
    before = set(seen)
    again = parallel_workers.init_workers(seen.add, num_worker_threads=1)
    again.start()
    while seen == before:
        pass
    assert again.stop()
    assert len(seen) == 4  # the new worker has a number of its own


def test_a_failing_worker_ends_its_fellows(caplog):
    ended = threading.Event()

    def fail(worker_id):
        raise ValueError("planned failure")

    workers = parallel_workers.init_workers(fail, worker_name="bad", shutdown_fun=ended.set)
    workers.start()
    coordinator = workers._coordinators[-1]
    for thread in coordinator._threads:
        thread.join(30)
    assert not coordinator.is_active()
    assert not workers.stop()
    assert ended.is_set()
    assert "planned failure" in caplog.text


class Numbers:
    """Fetches rows (n, 2 n), n = 0, 1, 2, ..., of which each appears once, in random portions."""

    def __init__(self):
        self.lock = threading.Lock()
        self.rng = np.random.default_rng(3)
        self.next = 0

    def __call__(self, worker_id, batch_size):
        with self.lock:
            count = int(self.rng.integers(1, 3 * batch_size))
            numbers = np.arange(self.next, self.next + count, dtype=np.int64)
            self.next += count
        return [numbers.reshape(count, 1), 2 * numbers]


def run(model):
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)

    def step():
        workspace.RunNet(model.net)
        return [workspace.FetchBlob(blob) for blob in ("scoped/x", "scoped/y")]

    return step


def test_input_is_cut_into_batches():
    model = ModelHelper("input")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"], Numbers(), batch_size=8, num_worker_threads=3,
            max_buffered_batches=4)
    workers.start()
    step, seen = run(model), []
    for _ in range(40):
        x, y = step()
        assert x.shape == (8, 1) and y.shape == (8,)
        np.testing.assert_array_equal(2 * x[:, 0], y)
        seen += y.tolist()
    assert workers.stop()
    assert len(set(seen)) == len(seen)  # nothing twice


def test_one_worker_keeps_the_order():
    model = ModelHelper("ordered")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"], Numbers(), batch_size=5, num_worker_threads=1)
    workers.start()
    step = run(model)
    seen = np.concatenate([step()[1] for _ in range(20)])
    assert workers.stop()
    np.testing.assert_array_equal(seen, 2 * np.arange(100))


def test_rows_may_be_counted_by_another_dimension():
    def fetch(worker_id, batch_size):
        columns = np.tile(np.arange(3), (4, 1)) + 10 * np.arange(4)[:, None]
        return [columns, np.arange(3)]

    model = ModelHelper("columns")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"], fetch, batch_size=2, num_worker_threads=1, batch_columns=[1, 0])
    workers.start()
    step = run(model)
    for batch in range(6):
        x, y = step()
        expected = np.arange(2 * batch, 2 * batch + 2) % 3
        np.testing.assert_array_equal(y, expected)
        np.testing.assert_array_equal(x, expected + 10 * np.arange(4)[:, None])
    assert workers.stop()


def test_without_rebatching_arrays_come_as_they_are():
    model = ModelHelper("raw")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"], lambda worker, size: [np.ones((size, 7)), np.ones(size)],
            batch_size=2, dont_rebatch=True)
    workers.start()
    x, y = run(model)()
    assert x.shape == (2, 7) and y.shape == (2,)
    assert workers.stop()


@pytest.mark.parametrize("fetched, message", [
    ([np.ones(3)], "1 arrays were fetched"),
    ([np.ones(3), np.ones(2)], "different numbers of rows"),
    (None, "returned None"),
])
def test_bad_input_ends_the_net_that_waits(fetched, message, caplog):
    model = ModelHelper("bad")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"], lambda worker, size: fetched, batch_size=2)
    step = run(model)
    workers.start()
    with pytest.raises(RuntimeError, match="Error running net"):
        step()
    assert not workers.stop()
    assert message in caplog.text


def test_blobs_and_columns_must_match():
    with pytest.raises(ValueError, match="1 batch_columns for 2 blobs"):
        data_workers.init_data_input_workers(
            ModelHelper("m"), ["x", "y"], Numbers(), 2, batch_columns=[0])
