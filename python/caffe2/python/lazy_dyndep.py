"""Shared libraries of operators that are loaded when an unknown operator is looked up or a net is
made."""

from __future__ import annotations

import functools
from collections.abc import Callable

from caffe2.python import core, dyndep
from caffe2.python.dyndep import GetImportedOpsLibraries

__all__ = ["GetImportedOpsLibraries", "RegisterOpsLibrary", "SetErrorHandler"]

_error_handler = None
_given_up: set[str] = set()


def RegisterOpsLibrary(name: str) -> None:
    """Notes a shared library for dyndep.InitOpsLibrary."""
    _given_up.discard(name)
    core.RegisterLazyImport(functools.partial(_load, name))


def SetErrorHandler(handler: Callable[[OSError], object] | None) -> None:
    """Sets a function of the exception (OSError) to call if a library cannot be loaded, instead of
    raising it. The library is not tried again, even if the function raises. None: raises."""
    global _error_handler
    _error_handler = handler


def _load(name):
    if name in _given_up:
        return
    try:
        dyndep.InitOpsLibrary(name, trigger_lazy=False)
    except OSError as error:
        if _error_handler is None:
            raise
        _given_up.add(name)
        _error_handler(error)
