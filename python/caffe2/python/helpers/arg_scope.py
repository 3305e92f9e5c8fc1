"""Arguments for all calls of a brew helper within a block."""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_scopes = threading.local()


@contextlib.contextmanager
def arg_scope(single_helper_or_list: Callable[..., Any] | Sequence[Callable[..., Any]],
              **kwargs: Any) -> Iterator[None]:
    """Passes the arguments to every call of the helpers (one, or a list) in the block:

        with brew.arg_scope([brew.conv, brew.fc], weight_init=("MSRAFill", {})): ...

    Inner scopes add to outer ones; the call's own arguments win. Raises ValueError for anything
    that is not a helper.
    """
    given: Any = single_helper_or_list
    helpers = list(given) if isinstance(given, (list, tuple)) else [given]
    if not all(callable(helper) for helper in helpers):
        raise ValueError("arg_scope takes a helper or a list of them, such as "
                         f"[brew.conv, brew.fc], not {given!r}")
    outer = get_current_scope()
    inner = copy.deepcopy(outer)
    for helper in helpers:
        inner.setdefault(helper.__name__, {}).update(kwargs)
    _scopes.current = inner
    try:
        yield
    finally:
        _scopes.current = outer


def get_current_scope() -> dict[str, dict[str, Any]]:
    """{helper name: {argument: value}} of this thread."""
    return getattr(_scopes, "current", {})
