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

# How often threads that count their work report it, in seconds.
LOG_INT_SECS = 60
# How long stop() waits for the threads of a coordinator, in seconds.
_JOIN_SECONDS = 10


class Metrics:
    """Passes measurements of any thread on to loggers, objects with ``log(dict)``: a list of them,
    or a dictionary by their names."""

    def __init__(self, external_loggers):
        loggers = external_loggers or ()
        self._loggers = list(loggers.values() if isinstance(loggers, dict) else loggers)
        self._lock = threading.Lock()
        self._metrics = {}

    def put_metric(self, key, value, count=True):
        """Adds a value to a sum; with `count`, the mean is told, not the sum."""
        with self._lock:
            total, number = self._metrics.get(key, (0, 0))
            self._metrics[key] = (total + value, number + 1 if count else 0)

    def reset_metrics(self):
        """Forgets what was not told yet, and returns it: {key: (sum, number of values or 0)}."""
        with self._lock:
            metrics, self._metrics = self._metrics, {}
        return metrics

    def log_metrics(self):
        """Tells the loggers, and starts again. What a logger raises is logged."""
        told = {key: total / number if number else total
                for key, (total, number) in self.reset_metrics().items()}
        for logger in self._loggers:
            try:
                logger.log(dict(told))
            except Exception:
                log.exception("the external logger %r failed", logger)


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

    def get_worker_ids(self):
        """The numbers of the workers."""
        return self._worker_ids

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
        self.request_stop()

    def request_stop(self):
        """Tells the workers to end, without waiting for them."""
        with self._stopping:
            if not self._active:
                return
            self._active = False
            self._state.stop()

    def wait_finish(self):
        """Waits for the workers to end, but for the one that calls this. Returns False if one did
        not end within ten seconds, or had failed."""
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
    """Tells all to end before it waits for any. An error of one is logged and keeps no other from
    being stopped. Returns whether all ended well."""
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

    def __init__(self):
        self._coordinators = []
        self._fetcher_id_seq = 0
        self._shutdown_registered = False

    def add(self, coordinator):
        """Adds a WorkerCoordinator, to be started and stopped with the others."""
        self._coordinators.append(coordinator)

    def get_new_worker_id(self):
        """A number that no worker had before."""
        self._fetcher_id_seq += 1
        return self._fetcher_id_seq - 1

    def get_new_worker_ids(self, num_workers):
        """As many numbers that no worker had before."""
        return [self.get_new_worker_id() for _ in range(num_workers)]

    def get_worker_ids(self):
        """All numbers that were given to workers."""
        return list(range(self._fetcher_id_seq))

    def reset_data_input(self, namescope, name, net, batch_size):
        """Lets another net read the input of data_workers, in batches of another size.

        Args:
          namescope: the name scope, with its final "/", under which the input was added.
          name: its input_source_name.
          net: a Net, which gets an operator that reads the input; or a ModelHelper.
          batch_size: rows of a batch; batches that wait for the net already keep their size.

        Raises ValueError if there is no such input.
        """
        inputs = [coordinator._state for coordinator in self._coordinators
                  if coordinator._worker_name == name
                  and getattr(coordinator._state, "namescope", None) == namescope]
        if not inputs:
            raise ValueError(f"no workers give the input {name} under the scope {namescope!r}")
        for state in inputs:
            state.reset(net, batch_size)

    def start(self):
        """Starts all workers that are not running; they end with the process, if not before."""
        # No worker runs before all are ready.
        for coordinator in self._coordinators:
            coordinator.init(self)
        for coordinator in self._coordinators:
            coordinator.start()
        self.register_shutdown_handler()

    def register_shutdown_handler(self):
        """Lets the workers end with the process, if not before."""
        if not self._shutdown_registered:
            atexit.register(self.stop)
            self._shutdown_registered = True

    def stop(self):
        """Ends all workers; returns whether all ended well."""
        stopped, self._coordinators = self._coordinators, []
        return _stop_all(stopped)

    def stop_coordinator(self, worker_name):
        """Ends the workers of one name; returns whether all ended well."""
        stopped = [c for c in self._coordinators if c._worker_name == worker_name]
        self._coordinators = [c for c in self._coordinators if c._worker_name != worker_name]
        return _stop_all(stopped)


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

    def handle_exception(self, e):
        """Called while what a piece of work raised is handled; ends the coordinator."""
        self._coordinator.fail(f"worker {self._worker_id} failed: {e}")

    def finish(self):
        """Called after each piece of work."""
        self._metrics.put_metric("worker_time", time.time() - self._start_time)
        self._metrics.log_metrics()


def run_worker(coordinator, worker):
    """What the thread of a worker does."""
    while coordinator.is_active():
        try:
            worker.start()
            try:
                worker.run()
            finally:
                worker.finish()
        except Exception as error:
            # What ends because the coordinator does, such as waiting for a queue, is no failure.
            if coordinator.is_active():
                worker.handle_exception(error)
            else:
                log.debug("a worker was cut short", exc_info=True)


def init_workers(worker_fun, num_worker_threads=2, worker_name="train", init_fun=None,
                 external_loggers=None, shutdown_fun=None):
    """Makes workers that call ``worker_fun(worker_id)`` over and over, from threads of their own.

    Args:
      num_worker_threads: how many.
      worker_name: what stop_coordinator knows them by.
      init_fun: function(worker coordinator, global coordinator), called before they start.
      external_loggers: objects with log(dict), in a list or by name, which the threads tell
        `worker_time`, the seconds of a call.
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
