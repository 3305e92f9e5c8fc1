"""Loads shared libraries of operators."""

from __future__ import annotations

import ctypes
import os
from threading import Lock

from caffe2.python import core

# The last part of the names of targets of Caffe2's build that need no loading: their operators are
# part of the library, or their engines are not needed.
_BUILT_IN = frozenset({
    "file_store_handler_ops", "redis_store_handler_ops", "store_ops", "gloo_ops", "gloo_ops_gpu",
    "nccl_ops", "nccl", "nnpack_ops", "sgd_simd_ops",
})

_lock = Lock()
_imported: set[str] = set()


def InitOpsLibrary(name: str, trigger_lazy: bool = True) -> None:
    """Loads a shared library, which registers its operators.

    `trigger_lazy` also loads the libraries of lazy_dyndep.

    Targets of Caffe2's own build whose operators are part of the library here
    ("@/caffe2/caffe2/distributed:file_store_handler_ops") need no loading. Another path that is
    not a file is ignored with a warning: its operators may be missing. Raises OSError if the file
    cannot be loaded.
    """
    if not os.path.exists(name):
        target, separator, operators = name.rpartition(":")
        if not (separator and target.startswith(("@/", "//")) and operators in _BUILT_IN):
            print(f"Ignoring {name} as it is not a valid file.")
        return
    with _lock:
        if name not in _imported:
            ctypes.CDLL(name, ctypes.RTLD_GLOBAL)
            _imported.add(name)
    core.RefreshRegisteredOperators(trigger_lazy)


def GetImportedOpsLibraries() -> set[str]:
    """The paths loaded so far."""
    return set(_imported)
