"""Ends workspaces and distributed runs with Python, in children of multiprocessing too.

An uncaught exception, including Ctrl-C, is a failure of this shard in the runs that it has joined,
and the other shards print it. Otherwise the exit status of the process decides how the runs end.
"""

from __future__ import annotations

import atexit
import sys
import traceback
from multiprocessing import process, util

from caffe2.python.caffe2_pybind11_state import fail_runs, leave_runs, on_module_exit


def watch() -> None:
    """Watches for the end of this process and of its children by multiprocessing."""
    # Workspaces go while Python still works: they may hold operators written in Python.
    atexit.register(_end_process)
    # A child does not run atexit functions. A forked child has imported this module already.
    util.register_after_fork(_watch_child, _watch_child)
    if process.parent_process() is not None:
        _watch_child()


def _watch_child(_=None):
    util.Finalize(None, _end_child, exitpriority=0)


def _describe(error):
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _end_process():
    # The exception that ended Python, which has just printed it. In an interactive session the
    # last printed exception ends nothing.
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    on_module_exit("" if error is None else _describe(error))


def _end_child():
    error = sys.exc_info()[1]  # on its way through the child's last frame
    if error is None or (isinstance(error, SystemExit) and not error.code):
        leave_runs()
    else:
        fail_runs(_describe(error))
