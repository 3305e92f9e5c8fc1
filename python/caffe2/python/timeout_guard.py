"""Ends a process whose work takes too long, instead of letting it hang."""

import contextlib
import faulthandler
import logging
import os
import signal
import threading

log = logging.getLogger("timeout_guard")

_GRACE_SECONDS = 10.0


def _end_process(timeout_secs):
    """Says why, shows where every thread is, interrupts, and after a while aborts."""
    log.error("Call did not finish in time. Timeout:%ss PID: %s", timeout_secs, os.getpid())
    faulthandler.dump_traceback(all_threads=True)
    abort = threading.Timer(_GRACE_SECONDS, os.abort)
    abort.daemon = True
    abort.start()
    os.kill(os.getpid(), signal.SIGINT)


@contextlib.contextmanager
def CompleteInTimeOrDie(timeout_secs):
    """Ends the process (KeyboardInterrupt, 10 seconds later an abort) unless the block ends within
    `timeout_secs` seconds."""
    watch = threading.Timer(timeout_secs, _end_process, args=(timeout_secs,))
    watch.daemon = True
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


def EuthanizeIfNecessary(timeout_secs=120):
    """Aborts the process if it is still there after `timeout_secs` seconds, as when threads keep
    it from exiting."""

    def abort():
        log.error("Process did not exit in time. Timeout:%ss PID: %s", timeout_secs, os.getpid())
        faulthandler.dump_traceback(all_threads=True)
        os.abort()

    watch = threading.Timer(timeout_secs, abort)
    watch.daemon = True
    watch.start()
