"""Threads that fetch the input of a net in Python, ahead of its runs.

    def fetch(worker_id, batch_size):
        return [images, labels]  # arrays; any number of rows
    workers = data_workers.init_data_input_workers(
        model, ["data", "label"], fetch, batch_size=32, num_worker_threads=4)
    workers.start()
    workspace.RunNetOnce(model.param_init_net)
    workspace.CreateNet(model.net)
    ...
    workers.stop()

The fetching threads fill a bounded buffer. One more thread cuts its contents into batches and puts
each batch into a queue that the net reads. Stop the workers before
workspace.ResetWorkspace.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Optional

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, scope, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.parallel_workers import (
    LOG_INT_SECS,
    GlobalWorkerCoordinator,
    HasNet,
    InitFunction,
    Loggers,
    Metrics,
    State,
    Worker,
    WorkerCoordinator,
    global_coordinator,
    run_worker,
)

log = logging.getLogger("data_workers")

# The number of batches that may wait in the queue of the net.
_QUEUE_CAPACITY = 4
# The interval in which a waiting thread looks whether it must end, in seconds.
_POLL_SECONDS = 0.2

# One coordinator serves all workers of the process, of this module and of parallel_workers.
GlobalCoordinator = GlobalWorkerCoordinator

# function(worker id, batch_size) -> a list of arrays, or None
FetchFunction = Callable[[int, int], Optional[Sequence[np.ndarray]]]


def _net_of(net: core.Net | HasNet) -> core.Net:
    return net if isinstance(net, core.Net) else net.net


def get_worker_ids(num_workers: int) -> list[int]:
    """The numbers 0 to num_workers - 1."""
    return list(range(num_workers))


def init_data_input_workers(net: core.Net | HasNet, input_blob_names: Sequence[BlobLike],
                            fetch_fun: FetchFunction, batch_size: int, num_worker_threads: int = 2,
                            input_source_name: str = "train", max_buffered_batches: int = 800,
                            init_fun: InitFunction | None = None,
                            external_loggers: Loggers | None = None, dont_rebatch: bool = False,
                            batch_columns: Sequence[int] | None = None,
                            timeout: float = 600) -> GlobalWorkerCoordinator:
    """Adds the input of a net from Python threads, under the current name and device scope.

    Args:
      net: a Net, or a ModelHelper.
      input_blob_names: the blobs that get the input.
      fetch_fun: function(worker id, batch_size) -> list of arrays, one for each blob, all with the
        same number of rows; or None if there is nothing at the moment: then it is called again.
        Threads may call it at the same time.
      batch_size: rows of a batch.
      num_worker_threads: the number of threads that fetch.
      input_source_name: the name of the workers for stop_coordinator.
      max_buffered_batches: the number of results of fetch_fun that may wait.
      init_fun: function(worker coordinator, global coordinator), called before they start.
      external_loggers: objects with log(dict), in a list or a dict by name. They get `fetcher_time`
        and `enqueue_time`, the seconds of a call of fetch_fun and of passing on a batch.
      dont_rebatch: passes the arrays on as they are fetched, of any shapes, instead of cutting and
        joining them into batches of exactly `batch_size` rows.
      batch_columns: for each blob the dimension that counts the rows; default 0.
      timeout: the seconds that a run of the net waits for a batch.

    A failure of `fetch_fun` is logged and ends the workers; a run of the net then fails. Returns
    the GlobalWorkerCoordinator; its start() starts the threads.
    """
    metrics = Metrics(external_loggers)
    feeder = BatchFeeder(
        _net_of(net), input_blob_names, batch_size, scope.CurrentDeviceScope(),
        scope.CurrentNameScope(), input_source_name, queue.Queue(maxsize=max_buffered_batches),
        metrics, dont_rebatch, batch_columns, timeout)
    worker_ids = global_coordinator.get_new_worker_ids(num_worker_threads)
    coordinator = WorkerCoordinator(input_source_name, worker_ids, init_fun, feeder)
    for worker_id in worker_ids:
        worker = DataWorker(coordinator, worker_id, fetch_fun, metrics, batch_size, feeder)
        coordinator.add_thread(run_worker, coordinator, worker)
    coordinator.add_thread(enqueuer, coordinator, feeder)
    global_coordinator.add(coordinator)
    return global_coordinator


class BatchFeeder(State):
    """Passes the data from the fetching threads to the net.

    Args:
      net: a Net, which gets the operator that reads.
      device_option: the device of the batches; None: the CPU.
      namescope: of the blobs, with its final "/", or "".
      queue: a queue.Queue of fetched lists of arrays.
      metrics: a Metrics.

    The other arguments are init_data_input_workers'.
    """

    def __init__(self, net: core.Net, input_blob_names: Sequence[BlobLike], batch_size: int,
                 device_option: caffe2_pb2.DeviceOption | None, namescope: str,
                 input_source_name: str, queue: queue.Queue[list[np.ndarray]], metrics: Metrics,
                 dont_rebatch: bool, batch_columns: Sequence[int] | None,
                 timeout: float = 600) -> None:
        self._names = [namescope + str(name) for name in input_blob_names]
        self.batch_size = batch_size
        self.namescope = namescope
        self._source = input_source_name
        self._buffer = queue
        self._metrics = metrics
        self._dont_rebatch = dont_rebatch
        self._columns = list(batch_columns or [0] * len(self._names))
        if len(self._columns) != len(self._names):
            raise ValueError(f"batch_columns must have one column for each of the "
                             f"{len(self._names)} blobs, found {len(self._columns)}")
        self._device = device_option
        self._inputs = 0  # rows put so far
        self._counting = threading.Lock()
        self._logged = (time.monotonic(), 0)
        self._rest: list[np.ndarray] | None = None
        self._timeout = timeout
        self._make_queue()
        self._let_read(net)

    def _make_queue(self):
        self._queue = core.BlobReference(
            f"{self.namescope}{self._source}_input_queue_{self._names[0]}")
        self._staged = [core.BlobReference(f"{name}_{self._source}_enqueue")
                        for name in self._names]
        with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
            workspace.RunOperatorOnce(core.CreateOperator(
                "CreateBlobsQueue", [], [self._queue], num_blobs=len(self._names),
                capacity=_QUEUE_CAPACITY))
            self._enqueue_operator = core.CreateOperator(
                "EnqueueBlobs", [self._queue, *self._staged], self._staged)
        for name in (*self._names, *self._staged):
            workspace.CreateBlob(str(name))  # here, not in a thread

    def _let_read(self, net):
        if not net.BlobIsDefined(self._queue):
            net.AddExternalInput(self._queue)
        net.DequeueBlobs(self._queue, [core.BlobReference(name) for name in self._names],
                         timeout_secs=float(self._timeout))

    def reset(self, net: core.Net | HasNet, batch_size: int) -> None:
        """Lets another net (a Net or ModelHelper) read the input, in batches of another size."""
        self.batch_size = batch_size
        with core.DeviceScope(self._device or core.DeviceOption(caffe2_pb2.CPU)):
            self._let_read(_net_of(net))

    def stop(self) -> None:
        """Closes the queue, which ends every wait for a batch."""
        workspace.RunOperatorOnce(core.CreateOperator("CloseBlobsQueue", [self._queue], []))

    def put(self, chunk: Sequence[np.ndarray], coordinator: WorkerCoordinator) -> None:
        """Buffers a fetched list of arrays; waits while the buffer is full.

        Raises ValueError if there are not as many arrays as blobs and, if batches are cut, for
        arrays with different numbers of rows or without the dimension that counts them.
        """
        chunk = [np.asarray(array) for array in chunk]
        if len(chunk) != len(self._names):
            raise ValueError(f"one array must be fetched for each of the blobs {self._names}, "
                             f"found {len(chunk)}")
        if not self._dont_rebatch:
            for array, column, name in zip(chunk, self._columns, self._names):
                if not -array.ndim <= column < array.ndim:
                    raise ValueError(f"the array of shape {array.shape} that was fetched for the "
                                     f"blob {name} has no dimension {column} to count rows by")
            rows = {array.shape[column] for array, column in zip(chunk, self._columns)}
            if len(rows) != 1:
                raise ValueError(f"arrays with different numbers of rows, {sorted(rows)}, were "
                                 f"fetched for the blobs {self._names}")
        while coordinator.is_active():
            try:
                self._buffer.put(chunk, timeout=_POLL_SECONDS)
            except queue.Full:
                continue
            with self._counting:
                self._inputs += self._rows(chunk)
            return

    def next_batch(self, coordinator: WorkerCoordinator) -> list[np.ndarray] | None:
        """The arrays of the next batch; None when the coordinator ends."""
        while coordinator.is_active():
            size = self.batch_size
            if self._rest is not None and self._rows(self._rest) >= size:
                return self._cut(size)
            try:
                chunk = self._buffer.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            if self._dont_rebatch:
                return chunk
            if self._rest is not None:
                chunk = [np.concatenate(pair, axis=column)
                         for *pair, column in zip(self._rest, chunk, self._columns)]
            self._rest = chunk
        return None

    def _rows(self, chunk):
        """The number of rows of the first array; 1 if it has no such dimension."""
        shape, column = chunk[0].shape, self._columns[0]
        return shape[column] if column < len(shape) else 1

    def _cut(self, size):
        """A batch of `size` rows, taken from the fetched rows that are left."""
        parts = [np.split(array, [size], axis=column)
                 for array, column in zip(self._rest, self._columns)]
        self._rest = [rest for _, rest in parts]
        return [batch for batch, _ in parts]

    def enqueue(self, batch: Sequence[np.ndarray]) -> None:
        """Puts a batch into the queue of the net; waits while the queue is full."""
        start = time.monotonic()
        for staged, array in zip(self._staged, batch):
            workspace.FeedBlob(staged, array, device_option=self._device)
        workspace.RunOperatorOnce(self._enqueue_operator)
        self._metrics.put_metric("enqueue_time", time.monotonic() - start)
        self._log_inputs()

    def _log_inputs(self):
        since, before = self._logged
        now, inputs = time.monotonic(), self._inputs
        if now - since >= LOG_INT_SECS:
            log.info("%s: %.1f rows a second", self._source, (inputs - before) / (now - since))
            self._logged = now, inputs


class DataWorker(Worker):
    """Fetches input with worker_fun(worker_id, batch_size) for a BatchFeeder."""

    def __init__(self, coordinator: WorkerCoordinator, worker_id: int, worker_fun: FetchFunction,
                 metrics: Metrics, batch_size: int, batch_feeder: BatchFeeder) -> None:
        Worker.__init__(self, coordinator, worker_id, worker_fun, metrics)
        self._batch_size = batch_size
        self._feeder = batch_feeder

    def run(self) -> None:
        """Fetches one chunk and puts it into the queue."""
        chunk = self._worker_fun(self._worker_id, self._batch_size)
        if chunk is None:
            log.warning("the fetch function of worker %s returned None", self._worker_id)
            time.sleep(_POLL_SECONDS)  # it may return None for a long time
        else:
            self._feeder.put(chunk, self._coordinator)

    def finish(self) -> None:
        """Logs the seconds of the fetch."""
        self._metrics.put_metric("fetcher_time", time.time() - self._start_time)
        self._metrics.log_metrics()


def enqueuer(coordinator: WorkerCoordinator, batch_feeder: BatchFeeder) -> None:
    """The loop of the thread that fills the queue of the net."""
    while coordinator.is_active():
        try:
            batch = batch_feeder.next_batch(coordinator)
            if batch is not None:
                batch_feeder.enqueue(batch)
        except Exception:
            if coordinator.is_active():
                coordinator.fail("putting a batch into the queue failed")
