"""Workspaces as objects."""

from __future__ import annotations

import itertools
import weakref
from typing import Any

from caffe2.python import workspace

_numbers = itertools.count()
_free_names: list[str] = []  # names of the workspaces that are empty again


class Workspace:
    """A workspace of its own, with the functions of caffe2.python.workspace as methods:
    `ws.FeedBlob("x", x)`. Its blobs and nets are freed with the object. The empty workspace stays
    for the next object."""

    def __init__(self) -> None:
        self._name = _free_names.pop() if _free_names else f"__onnx_workspace_{next(_numbers)}"
        weakref.finalize(self, _clear, self._name)

    def __getattr__(self, name: str) -> Any:
        function = getattr(workspace, name)
        if not callable(function):
            return function

        def call(*args, **kwargs):
            with workspace.WorkspaceGuard(self._name):
                return function(*args, **kwargs)
        return call


def _clear(name):
    with workspace.WorkspaceGuard(name):
        workspace.ResetWorkspace()
    _free_names.append(name)
