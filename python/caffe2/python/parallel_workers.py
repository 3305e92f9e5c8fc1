"""Threads that do something again and again beside the training, such as filling a queue.

    def fill(worker_id):
        ...  # feed blobs and enqueue them
    workers = parallel_workers.init_workers(fill, num_worker_threads=4)
    workers.start()
    ...
    workers.stop()

See data_workers for threads that give a net its input.
"""

import atexit
import logging
import threading
import time

log = logging.getLogger("parallel_workers")

# How long stop() waits for the threads of a coordinator, in seconds.
_JOIN_SECONDS = 10


class Metrics:
    """Passes measurements on to loggers, objects with ``log(dict)``: {name: logger}."""

    def __init__(self, external_loggers):
        self._metrics = {}
        self._loggers = list((external_loggers or {}).values())

    def put_metric(self, key, value, count=True):
        """Adds a value to a sum; with `count`, the mean is told, not the sum."""
        total, number = self._metrics.get(key, (0, 0))
        self._metrics[key] = (total + value, number + 1 if count else 0)

    def log_metrics(self):
        """Tells the loggers, and starts again."""
        told = {key: total / number if number else total
                for key, (total, number) in self._metrics.items()}
        self._metrics = {}
        for logger in self._loggers:
            logger.log(told)


class State:
    """What the workers of a coordinator share. Subclasses override what they need."""

    def start(self):
        """Called before the threads start."""

    def stop(self):
        """Called when the threads shall end; must wake those that wait."""

    def cleanup(self):
        """Called when they have ended."""


class WorkerCoordinator:
    """The threads of one kind, by name.

    Args:
      worker_name: the name.
      worker_ids: the numbers of the workers, each of which is a thread.
      init_fun: function(this, the GlobalWorkerCoordinator), called before they start.
      state: a State.
      shutdown_fun: function(), called when they have ended.
    """

    def __init__(self, worker_name, worker_ids, init_fun, state=None, shutdown_fun=None):
        self._worker_name = worker_name
        self._worker_ids = worker_ids
        self._init_fun = init_fun
        self._state = state or State()
        self._shutdown_fun = shutdown_fun
        self._threads = []
        self._active = True
        self._started = False
        self._stopping = threading.Lock()
        self._failed = False

    def is_active(self):
        """False as soon as the workers shall end."""
        return self._active

    def add_thread(self, function, *args):
        """Gives the coordinator a thread, which start() starts."""
        self._threads.append(threading.Thread(
            target=function, args=args, name=f"{self._worker_name}_{len(self._threads)}",
            daemon=True))

    def init(self, global_coordinator):
        """Calls the init function, if it was given and nothing was started yet."""
        if self._init_fun and not self._started:
            self._init_fun(self, global_coordinator)

    def start(self):
        """Starts the threads, once."""
        if self._started:
            return
        self._started = True
        self._state.start()
        for thread in self._threads:
            thread.start()

    def fail(self, reason):
        """Ends all workers because one of them failed; to be called while its exception is handled,
        which is logged."""
        self._failed = True
        log.exception("%s: %s", self._worker_name, reason)
        self._end()

    def _end(self):
        with self._stopping:
            if not self._active:
                return
            self._active = False
            self._state.stop()

    def stop(self):
        """Ends the workers and waits for them. Returns False if one did not end within ten seconds,
        or had failed."""
        self._end()
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread in self._threads if self._started else ():
            thread.join(max(0, deadline - time.monotonic()))
        late = [thread.name for thread in self._threads if thread.is_alive()]
        if late:
            log.error("%s: threads %s did not end in time", self._worker_name, late)
        else:
            self._state.cleanup()
        if self._shutdown_fun:
            self._shutdown_fun()
        return not late and not self._failed


class GlobalWorkerCoordinator:
    """All coordinators of the process; starts and stops them together."""

    def __init__(self):
        self._coordinators = []
        self._fetcher_id_seq = 0
        self._shutdown_registered = False

    def add(self, coordinator):
        """Adds a WorkerCoordinator, to be started and stopped with the others."""
        self._coordinators.append(coordinator)

    def get_new_worker_ids(self, num_workers):
        """Numbers that no worker had before."""
        first = self._fetcher_id_seq
        self._fetcher_id_seq += num_workers
        return list(range(first, self._fetcher_id_seq))

    def init_workers(self, worker_name):
        """Calls the init functions of the coordinators of this name."""
        for coordinator in self._coordinators:
            if coordinator._worker_name == worker_name:
                coordinator.init(self)

    def start(self):
        """Starts all workers that are not running; they end with the process, if not before."""
        for coordinator in self._coordinators:
            coordinator.init(self)
            coordinator.start()
        if not self._shutdown_registered:
            atexit.register(self.stop)
            self._shutdown_registered = True

    def stop(self):
        """Ends all workers; returns whether all ended well."""
        stopped, self._coordinators = self._coordinators, []
        return all([coordinator.stop() for coordinator in stopped])

    def stop_coordinator(self, worker_name):
        """Ends the workers of one name; returns whether all ended well."""
        stopped = [c for c in self._coordinators if c._worker_name == worker_name]
        self._coordinators = [c for c in self._coordinators if c._worker_name != worker_name]
        return all([coordinator.stop() for coordinator in stopped])


global_coordinator = GlobalWorkerCoordinator()


class Worker:
    """One worker: calls `worker_fun(worker_id)` until its coordinator ends.

    Subclasses override run(), which does one piece of work.
    """

    def __init__(self, coordinator, worker_id, worker_fun=None, metrics=None):
        self._coordinator = coordinator
        self._worker_id = worker_id
        self._worker_fun = worker_fun
        self._metrics = metrics or Metrics(None)

    def start(self):
        """Called at the beginning of each piece of work."""
        self._start_time = time.time()

    def run(self):
        """Does one piece of work."""
        self._worker_fun(self._worker_id)

    def handle_exception(self):
        """Called where run() raised; ends the coordinator."""
        self._coordinator.fail(f"worker {self._worker_id} failed")

    def finish(self):
        """Called after each piece of work."""
        self._metrics.put_metric("worker_time", time.time() - self._start_time)
        self._metrics.log_metrics()


def run_worker(coordinator, worker):
    """What the thread of a worker does."""
    while coordinator.is_active():
        worker.start()
        try:
            worker.run()
        except Exception:
            # What ends because the coordinator does, such as waiting for a queue, is no failure.
            if coordinator.is_active():
                worker.handle_exception()
        finally:
            worker.finish()


def init_workers(worker_fun, num_worker_threads=2, worker_name="train", init_fun=None,
                 external_loggers=None, shutdown_fun=None):
    """Makes workers that call ``worker_fun(worker_id)`` over and over, from threads of their own.

    Args:
      num_worker_threads: how many.
      worker_name: what stop_coordinator knows them by.
      init_fun: function(worker coordinator, global coordinator), called before they start.
      external_loggers: {name: object with log(dict)}, which get the times of the calls in seconds.
      shutdown_fun: function(), called after they ended.

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
