"""Functions chosen by the type of their argument, and indented text; public through net_printer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


class Visitor:
    """Calls the function that is registered for the type of an object, or for the nearest base of
    that type. A subclass has functions of its own, which override the functions of its bases."""

    visitors: dict[type, Callable[..., Any]] = {}

    @classmethod
    def register(cls, kind: type) -> Callable[[_F], _F]:
        """A decorator of functions (visitor, object, ...) for objects of a type. Raises
        AssertionError if this class has a function for it."""
        def add(function):
            if "visitors" not in cls.__dict__:
                cls.visitors = {}
            assert kind not in cls.visitors, f"{cls.__name__}: {kind} already registered"
            cls.visitors[kind] = function
            return function
        return add

    def __call__(self, obj: object, *args: Any, **kwargs: Any) -> Any:
        """Visits an object; does nothing for None. Raises TypeError for an unknown type."""
        if obj is None:
            return None
        known = [cls.__dict__["visitors"] for cls in type(self).__mro__
                 if "visitors" in cls.__dict__]
        for kind in type(obj).__mro__:
            for visitors in known:
                if kind in visitors:
                    return visitors[kind](self, obj, *args, **kwargs)
        raise TypeError(f"{type(self).__name__}: unsupported object type: {type(obj).__name__}")


class Text:
    """Lines of text; the lines of a context are indented by four."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._indent = 0

    @contextmanager
    def context(self, text: str | None) -> Iterator[None]:
        """Indents the lines added in the block under "with <text>:"; "pass" if there are none. Does
        nothing for None."""
        if text is None:
            yield
            return
        self.add(f"with {text}:")
        self._indent += 4
        before = len(self.lines)
        try:
            yield
            if len(self.lines) == before:
                self.add("pass")
        finally:
            self._indent -= 4

    def add(self, text: str) -> None:
        """Adds a line."""
        self.lines.append(" " * self._indent + text)

    def __str__(self) -> str:
        return "\n".join(self.lines)
