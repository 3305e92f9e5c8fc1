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
    enough.clear()

    def work_again(worker_id):
        seen.add(worker_id)
        enough.set()

    again = parallel_workers.init_workers(work_again, num_worker_threads=1)
    again.start()
    assert enough.wait(30)
    assert again.stop()
    assert len(seen) == 4  # the new worker has a number of its own


def test_all_are_ready_before_one_starts():
    seen, ids = [], []

    def prepare(coordinator, everything):
        seen.append([other._started for other in everything._coordinators])
        ids.extend(coordinator.get_worker_ids())

    for name in ("first", "second"):
        workers = parallel_workers.init_workers(
            lambda worker_id: None, worker_name=name, init_fun=prepare)
    workers.start()
    assert workers.stop()
    assert seen == [[False, False]] * 2
    assert len(set(ids)) == 4 and set(ids) <= set(workers.get_worker_ids())


class Recorder:
    def __init__(self):
        self.told, self.enough = [], threading.Event()

    def log(self, metrics):
        self.told.append(metrics)
        if len(self.told) >= 5:
            self.enough.set()


class BadLogger:
    def log(self, metrics):
        raise RuntimeError("planned failure of a logger")


@pytest.mark.parametrize("by_name", [False, True])
def test_loggers_that_fail_disturb_nobody(by_name, caplog):
    recorder = Recorder()
    loggers = [BadLogger(), recorder]
    workers = parallel_workers.init_workers(
        lambda worker_id: None,
        external_loggers=dict(zip("ab", loggers)) if by_name else loggers)
    workers.start()
    assert recorder.enough.wait(30)
    assert workers.stop()
    assert "planned failure of a logger" in caplog.text


def test_metrics_of_many_threads():
    recorder = Recorder()
    metrics = parallel_workers.Metrics([recorder])
    metrics.put_metric("forgotten", 1)
    metrics.reset_metrics()

    def put(thread):
        for i in range(500):
            metrics.put_metric(f"sum_{i % 50}", 1, count=False)
            metrics.log_metrics()

    threads = [threading.Thread(target=put, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    metrics.put_metric("mean", 2)
    metrics.put_metric("mean", 4)
    metrics.log_metrics()
    assert sum(sum(told.values()) for told in recorder.told[:-1]) == 2000
    assert recorder.told[-1] == {"mean": 3}


def test_one_that_cannot_be_stopped_keeps_no_other_from_it(caplog):
    class Stuck(parallel_workers.State):
        def stop(self):
            raise RuntimeError("planned failure to stop")

    everything = parallel_workers.global_coordinator
    everything.add(parallel_workers.WorkerCoordinator("stuck", [], None, Stuck()))
    active_at_end = []
    coordinators = []
    for name in ("first", "second"):
        parallel_workers.init_workers(
            lambda worker_id: None, worker_name=name,
            shutdown_fun=lambda: active_at_end.append([c.is_active() for c in coordinators]))
    coordinators += everything._coordinators[1:]
    everything.start()
    assert not everything.stop()
    assert "planned failure to stop" in caplog.text
    assert active_at_end == [[False, False]] * 2  # both were told before one was waited for


def test_a_worker_may_stop_itself():
    answers, answered = [], threading.Event()

    def work(worker_id):
        answers.append(parallel_workers.global_coordinator.stop_coordinator("own"))
        answered.set()

    parallel_workers.init_workers(work, num_worker_threads=1, worker_name="own").start()
    assert answered.wait(30)
    assert answers == [True]


def test_exceptions_reach_the_handler():
    seen, handled = [], threading.Event()

    class Careful(parallel_workers.Worker):
        def handle_exception(self, e):
            seen.append(e)
            handled.set()

    def fail(worker_id):
        raise ValueError("planned failure")

    coordinator = parallel_workers.WorkerCoordinator("careful", [0], None)
    coordinator.add_thread(
        parallel_workers.run_worker, coordinator, Careful(coordinator, 0, fail))
    parallel_workers.global_coordinator.add(coordinator)
    parallel_workers.global_coordinator.start()
    assert handled.wait(30)
    assert parallel_workers.global_coordinator.stop()
    assert str(seen[0]) == "planned failure"


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
    """Fetches the rows (n, 2 n), n = 0, 1, 2, ..., each once, in portions of random sizes."""

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
            model, ["x", "y"], lambda worker, size: [np.float32(3), np.ones((size, 7))],
            batch_size=2, dont_rebatch=True)
    workers.start()
    x, y = run(model)()
    assert x.shape == () and y.shape == (2, 7)
    assert workers.stop()


def test_a_fetch_function_without_data_is_called_again(caplog):
    recorder = Recorder()
    answers = iter([None, None])
    model = ModelHelper("patient")
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            model, ["x", "y"],
            lambda worker, size: next(answers, [np.ones((size, 7)), np.ones(size)]),
            batch_size=2, num_worker_threads=1, external_loggers=[recorder])
    workers.start()
    x, y = run(model)()
    assert x.shape == (2, 7) and y.shape == (2,)
    assert recorder.enough.wait(30)
    assert workers.stop()
    assert caplog.text.count("returned None") == 2
    assert recorder.told[0]["fetcher_time"] >= 0


def test_another_net_may_read_in_batches_of_another_size():
    with core.NameScope("scoped"):
        workers = data_workers.init_data_input_workers(
            ModelHelper("before"), ["x", "y"], Numbers(), batch_size=5, input_source_name="reset")
    model = ModelHelper("after")
    workers.reset_data_input("scoped/", "reset", model, 3)
    with pytest.raises(ValueError, match="no workers fetch the input reset under the scope ''"):
        workers.reset_data_input("", "reset", model, 3)
    workers.start()
    x, y = run(model)()
    assert x.shape == (3, 1)
    np.testing.assert_array_equal(2 * x[:, 0], y)
    assert workers.stop()


@pytest.mark.parametrize("fetched, message", [
    ([np.ones(3)], "one array must be fetched for each of the blobs"),
    ([np.ones(3), np.ones(2)], "different numbers of rows"),
    ([np.ones(3), np.float32(2)], "shape () that was fetched for the blob scoped/y has no dim"),
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
    with pytest.raises(ValueError, match="one column for each of the 2 blobs, found 1"):
        data_workers.init_data_input_workers(
            ModelHelper("m"), ["x", "y"], Numbers(), 2, batch_columns=[0])
