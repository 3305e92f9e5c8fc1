"""Ends workspaces and distributed runs with Python, in children of multiprocessing too.

An exception that nobody caught, Ctrl-C included, is a failure of this shard in the runs that it has
joined; the other shards print it. Otherwise the exit status of the process tells how they end.
"""

from __future__ import annotations

import atexit
import sys
import traceback
from multiprocessing import process, util

from caffe2.python.caffe2_pybind11_state import fail_runs, leave_runs, on_module_exit


def watch() -> None:
    """Watches for the end of this process and of its children by multiprocessing."""
    # Workspaces go while Python is whole: they may hold operators written in Python.
    atexit.register(_end_process)
    # A child ends without what atexit has. One that is forked has imported this already.
    util.register_after_fork(_watch_child, _watch_child)
    if process.parent_process() is not None:
        _watch_child()


def _watch_child(_=None):
    util.Finalize(None, _end_child, exitpriority=0)


def _describe(error):
    return "".join(traceback.format_exception_only(type(error), error)).strip()


def _end_process():
    # What Python has just printed as the reason of its end. In an interactive session it is any
    # exception that was printed, and no reason.
    error = None if hasattr(sys, "ps1") else getattr(sys, "last_value", None)
    on_module_exit("" if error is None else _describe(error))


def _end_child():
    error = sys.exc_info()[1]  # on its way through the child's last frame
    if error is None or (isinstance(error, SystemExit) and not error.code):
        leave_runs()
    else:
        fail_runs(_describe(error))
