"""Threads that repeat a piece of work during training, such as filling a queue.

    def fill(worker_id):
        ...  # feed blobs and enqueue them
    workers = parallel_workers.init_workers(fill, num_worker_threads=4)
    workers.start()
    ...
    workers.stop()

See data_workers for threads that give a net its input.
"""

from __future__ import annotations

import atexit
import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, Union

from caffe2.python import core

log = logging.getLogger("parallel_workers")

# The interval of the log lines of threads that count their work, in seconds.
LOG_INT_SECS = 60
# How long stop() waits for the threads of a coordinator, in seconds.
_JOIN_SECONDS = 10


class HasNet(Protocol):
    """A model, such as a ModelHelper."""

    net: core.Net


class Logger(Protocol):
    """A destination of measurements."""

    def log(self, log_dict: dict[str, float]) -> object:
        """Logs {key: value}."""


Loggers = Union[Iterable[Logger], dict[str, Logger]]
# function(worker coordinator, global coordinator)
InitFunction = Callable[["WorkerCoordinator", "GlobalWorkerCoordinator"], object]


class Metrics:
    """Collects measurements of all threads for loggers (objects with ``log(dict)``), given as a
    list or as a dict by name."""

    def __init__(self, external_loggers: Loggers | None) -> None:
        loggers = external_loggers or ()
        self._loggers = list(loggers.values() if isinstance(loggers, dict) else loggers)
        self._lock = threading.Lock()
        self._metrics: dict[str, tuple[float, int]] = {}

    def put_metric(self, key: str, value: float, count: bool = True) -> None:
        """Adds a value to a sum; with `count`, loggers get the mean instead of the sum."""
        with self._lock:
            total, number = self._metrics.get(key, (0, 0))
            self._metrics[key] = (total + value, number + 1 if count else 0)

    def reset_metrics(self) -> dict[str, tuple[float, int]]:
        """Clears and returns the measurements that were not logged yet: {key: (sum, number of
        values or 0)}."""
        with self._lock:
            metrics, self._metrics = self._metrics, {}
        return metrics

    def log_metrics(self) -> None:
        """Passes the measurements to the loggers and clears them. An exception of a logger is
        logged."""
        told = {key: total / number if number else total
                for key, (total, number) in self.reset_metrics().items()}
        for logger in self._loggers:
            try:
                logger.log(dict(told))
            except Exception:
                log.exception("the external logger %r failed", logger)


class State:
    """The state that the workers of a coordinator share. Subclasses override these methods."""

    def start(self) -> None:
        """Called before the threads start."""

    def stop(self) -> None:
        """Called to end the threads; must wake the threads that wait."""

    def cleanup(self) -> None:
        """Called when the threads have ended."""


class WorkerCoordinator:
    """The threads of one kind, by name.

    Args:
      worker_name: the name.
      worker_ids: the numbers of the workers; each worker is a thread.
      init_fun: function(this, the GlobalWorkerCoordinator), called before the threads start.
      state: a State.
      shutdown_fun: function(), called when the threads have ended.
    """

    def __init__(self, worker_name: str, worker_ids: Sequence[int], init_fun: InitFunction | None,
                 state: State | None = None,
                 shutdown_fun: Callable[[], object] | None = None) -> None:
        self._worker_name = worker_name
        self._worker_ids = worker_ids
        self._init_fun = init_fun
        self._state = state or State()
        self._shutdown_fun = shutdown_fun
        self._threads: list[threading.Thread] = []
        self._active = True
        self._started = False
        self._stopping = threading.Lock()
        self._failed = False

    def get_worker_ids(self) -> Sequence[int]:
        """The numbers of the workers."""
        return self._worker_ids

    def is_active(self) -> bool:
        """False once the workers were told to end."""
        return self._active

    def add_thread(self, function: Callable[..., object], *args: Any) -> None:
        """Adds a thread that runs function(*args); start() starts it."""
        self._threads.append(threading.Thread(
            target=function, args=args, name=f"{self._worker_name}_{len(self._threads)}",
            daemon=True))

    def init(self, global_coordinator: GlobalWorkerCoordinator) -> None:
        """Calls the init function, if there is one and no thread was started yet."""
        if self._init_fun and not self._started:
            self._init_fun(self, global_coordinator)

    def start(self) -> None:
        """Starts the threads, once."""
        if self._started:
            return
        self._started = True
        self._state.start()
        for thread in self._threads:
            thread.start()

    def fail(self, reason: str) -> None:
        """Ends all workers because one of them failed. Call it in the handler of the exception,
        which it logs."""
        self._failed = True
        log.exception("%s: %s", self._worker_name, reason)
        self.request_stop()

    def request_stop(self) -> None:
        """Tells the workers to end, without waiting for them."""
        with self._stopping:
            if not self._active:
                return
            self._active = False
            self._state.stop()

    def wait_finish(self) -> bool:
        """Waits for the workers to end, except the calling one. Returns False if one has failed or
        does not end within ten seconds."""
        deadline = time.monotonic() + _JOIN_SECONDS
        others = [thread for thread in self._threads
                  if self._started and thread is not threading.current_thread()]
        for thread in others:
            thread.join(max(0, deadline - time.monotonic()))
        late = [thread.name for thread in others if thread.is_alive()]
        try:
            if late:
                log.error("%s: threads %s did not end in time", self._worker_name, late)
            else:
                self._state.cleanup()
        finally:
            if self._shutdown_fun:
                self._shutdown_fun()
        return not late and not self._failed


def _stop_all(coordinators):
    """Tells all coordinators to end, then waits for each. An error of one is logged, and the others
    are still stopped. Returns True if all ended well."""
    well = True
    for step in (WorkerCoordinator.request_stop, WorkerCoordinator.wait_finish):
        for coordinator in coordinators:
            try:
                well &= step(coordinator) is not False
            except Exception:
                log.exception("%s: stopping failed", coordinator._worker_name)
                well = False
    return well


class GlobalWorkerCoordinator:
    """All coordinators of the process; starts and stops them together."""

    def __init__(self) -> None:
        self._coordinators: list[WorkerCoordinator] = []
        self._fetcher_id_seq = 0
        self._shutdown_registered = False

    def add(self, coordinator: WorkerCoordinator) -> None:
        """Adds a WorkerCoordinator, to be started and stopped with the others."""
        self._coordinators.append(coordinator)

    def get_new_worker_id(self) -> int:
        """A new number for a worker."""
        self._fetcher_id_seq += 1
        return self._fetcher_id_seq - 1

    def get_new_worker_ids(self, num_workers: int) -> list[int]:
        """`num_workers` new numbers for workers."""
        return [self.get_new_worker_id() for _ in range(num_workers)]

    def get_worker_ids(self) -> list[int]:
        """The numbers of all workers so far."""
        return list(range(self._fetcher_id_seq))

    def reset_data_input(self, namescope: str, name: str, net: core.Net | HasNet,
                         batch_size: int) -> None:
        """Lets another net read the input of data_workers, in batches of another size.

        Args:
          namescope: the name scope, with its final "/", under which the input was added.
          name: its input_source_name.
          net: a Net, which gets an operator that reads the input; or a ModelHelper.
          batch_size: rows of a batch; batches that wait for the net already keep their size.

        Raises ValueError if there is no such input.
        """
        inputs: list[Any] = [coordinator._state for coordinator in self._coordinators
                  if coordinator._worker_name == name
                  and getattr(coordinator._state, "namescope", None) == namescope]
        if not inputs:
            raise ValueError(f"no workers fetch the input {name} under the scope {namescope!r}")
        for state in inputs:
            state.reset(net, batch_size)

    def start(self) -> None:
        """Starts all workers that do not run yet. They end with the process at the latest."""
        # No worker runs before all are ready.
        for coordinator in self._coordinators:
            coordinator.init(self)
        for coordinator in self._coordinators:
            coordinator.start()
        self.register_shutdown_handler()

    def register_shutdown_handler(self) -> None:
        """Ends the workers with the process at the latest."""
        if not self._shutdown_registered:
            atexit.register(self.stop)
            self._shutdown_registered = True

    def stop(self) -> bool:
        """Ends all workers; returns True if all ended well."""
        stopped, self._coordinators = self._coordinators, []
        return _stop_all(stopped)

    def stop_coordinator(self, worker_name: str) -> bool:
        """Ends the workers of one name; returns True if all ended well."""
        stopped = [c for c in self._coordinators if c._worker_name == worker_name]
        self._coordinators = [c for c in self._coordinators if c._worker_name != worker_name]
        return _stop_all(stopped)


global_coordinator = GlobalWorkerCoordinator()


def _no_work(*_):
    raise NotImplementedError("a Worker gets a worker_fun, or its class defines run")


class Worker:
    """One worker: calls `worker_fun(worker_id)` until its coordinator ends.

    Subclasses override run(), which does one piece of work.
    """

    def __init__(self, coordinator: WorkerCoordinator, worker_id: int,
                 worker_fun: Callable[..., Any] | None = None,
                 metrics: Metrics | None = None) -> None:
        self._coordinator = coordinator
        self._worker_id = worker_id
        self._worker_fun = worker_fun or _no_work
        self._metrics = metrics or Metrics(None)

    def start(self) -> None:
        """Called at the beginning of each piece of work."""
        self._start_time = time.time()

    def run(self) -> None:
        """Does one piece of work."""
        self._worker_fun(self._worker_id)

    def handle_exception(self, e: BaseException) -> None:
        """Called in the handler of an exception of run(); ends the coordinator."""
        self._coordinator.fail(f"worker {self._worker_id} failed: {e}")

    def finish(self) -> None:
        """Called after each piece of work."""
        self._metrics.put_metric("worker_time", time.time() - self._start_time)
        self._metrics.log_metrics()


def run_worker(coordinator: WorkerCoordinator, worker: Worker) -> None:
    """The loop of the thread of a worker."""
    while coordinator.is_active():
        try:
            worker.start()
            try:
                worker.run()
            finally:
                worker.finish()
        except Exception as error:
            # An exception because the coordinator ends, such as a wait for a queue, is no failure.
            if coordinator.is_active():
                worker.handle_exception(error)
            else:
                log.debug("a worker was cut short", exc_info=True)


def init_workers(worker_fun: Callable[[int], object], num_worker_threads: int = 2,
                 worker_name: str = "train", init_fun: InitFunction | None = None,
                 external_loggers: Loggers | None = None,
                 shutdown_fun: Callable[[], object] | None = None) -> GlobalWorkerCoordinator:
    """Makes workers: threads that call ``worker_fun(worker_id)`` repeatedly.

    Args:
      num_worker_threads: the number of threads.
      worker_name: the name for stop_coordinator.
      init_fun: function(worker coordinator, global coordinator), called before they start.
      external_loggers: objects with log(dict), in a list or a dict by name. They get `worker_time`,
        the seconds of a call.
      shutdown_fun: function(), called after they have ended.

    An exception of `worker_fun` is logged and ends all workers of this name. Returns the
    GlobalWorkerCoordinator; its start() starts them.
    """
    metrics = Metrics(external_loggers)
    worker_ids = global_coordinator.get_new_worker_ids(num_worker_threads)
    coordinator = WorkerCoordinator(
        worker_name, worker_ids, init_fun, shutdown_fun=shutdown_fun)
    for worker_id in worker_ids:
        coordinator.add_thread(
            run_worker, coordinator, Worker(coordinator, worker_id, worker_fun, metrics))
    global_coordinator.add(coordinator)
    return global_coordinator
