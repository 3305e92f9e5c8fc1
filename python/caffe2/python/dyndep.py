"""Loads shared libraries of operators."""

import ctypes
import os
from threading import Lock

from caffe2.python import core

_lock = Lock()
_imported = set()


def InitOpsLibrary(name, trigger_lazy=True):
    """Loads a shared library, whose operators are then known.

    `trigger_lazy` loads those of lazy_dyndep, too.

    A path that is no file, as the targets of Caffe2's own build that older scripts name
    ("@/caffe2/caffe2/distributed:file_store_handler_ops"), is ignored: these operators are part of
    the library. Raises OSError if the file cannot be loaded.
    """
    if not os.path.exists(name):
        print(f"Ignoring {name} as it is not a valid file.")
        return
    with _lock:
        if name not in _imported:
            ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
            _imported.add(name)
    core.RefreshRegisteredOperators(trigger_lazy)


def GetImportedOpsLibraries():
    """The paths loaded so far."""
    return set(_imported)
