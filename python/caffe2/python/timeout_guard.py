"""Ends a process whose work takes too long, instead of letting it hang."""

from __future__ import annotations

import contextlib
import faulthandler
import logging
import os
import signal
import threading
from collections.abc import Iterator

log = logging.getLogger("timeout_guard")

_GRACE_SECONDS = 10.0


def _end_process(timeout_secs):
    """Logs the reason and the stack of every thread, interrupts, and after a while aborts."""
    log.error("Call did not finish in time. Timeout:%ss PID: %s", timeout_secs, os.getpid())
    faulthandler.dump_traceback(all_threads=True)
    abort = threading.Timer(_GRACE_SECONDS, os.abort)
    abort.daemon = True
    abort.start()
    os.kill(os.getpid(), signal.SIGINT)


class WatcherThread(threading.Thread):
    """A thread that ends the process unless, within `timeout_secs` seconds of its start,
    `completed` is set and `condition` notified."""

    def __init__(self, timeout_secs: float) -> None:
        super().__init__(daemon=True)
        self.timeout_secs = timeout_secs
        self.completed = False
        self.condition = threading.Condition()
        self.caller_thread = threading.current_thread()

    def run(self) -> None:
        """Waits; on time-out KeyboardInterrupt, 10 seconds later an abort."""
        with self.condition:
            self.condition.wait_for(lambda: self.completed, self.timeout_secs)
        if not self.completed:
            _end_process(self.timeout_secs)


@contextlib.contextmanager
def CompleteInTimeOrDie(timeout_secs: float) -> Iterator[None]:
    """Ends the process (KeyboardInterrupt, 10 seconds later an abort) unless the block ends within
    `timeout_secs` seconds."""
    watcher = WatcherThread(timeout_secs)
    watcher.start()
    try:
        yield
    finally:
        with watcher.condition:
            watcher.completed = True
            watcher.condition.notify()


def EuthanizeIfNecessary(timeout_secs: float = 120) -> None:
    """Aborts the process if it has not ended after `timeout_secs` seconds, for example because of
    threads that still run."""

    def abort():
        log.error("Process did not exit in time. Timeout:%ss PID: %s", timeout_secs, os.getpid())
        faulthandler.dump_traceback(all_threads=True)
        os.abort()

    watch = threading.Timer(timeout_secs, abort)
    watch.daemon = True
    watch.start()
