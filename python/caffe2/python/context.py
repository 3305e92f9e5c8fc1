"""Objects that are current within a ``with`` block, for each thread."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any, Literal, TypeVar, overload

_F = TypeVar("_F", bound=Callable[..., Any])
_Managed = TypeVar("_Managed", bound="Managed")
_DefaultManaged = TypeVar("_DefaultManaged", bound="DefaultManaged")


class _ContextRegistry:
    """The stacks of current objects, by class and thread."""

    def __init__(self):
        self._thread = threading.local()

    def stack(self, cls):
        return self._thread.__dict__.setdefault(cls, [])


_registry = _ContextRegistry()


def get_active_context(cls: Any, value: Any = None, required: bool = True) -> Any:
    """`value`, or the innermost current object of a context class.

    Raises AssertionError for a value of another class, and if there is none and it is required.
    """
    if value is not None:
        if not isinstance(value, cls):
            raise AssertionError(f"Wrong context type. Expected: {cls}, got {type(value)}.")
        return value
    stack = _registry.stack(cls._ctx_class)
    if stack:
        return stack[-1]
    if cls._ctx_allow_default:
        stack.append(cls())
        return stack[-1]
    if required:
        raise AssertionError(f"Context of type {cls} is missing.")
    return None


def _context_classes(obj):
    """The context classes among an object's class and its bases."""
    return [cls for cls in type(obj).__mro__ if "_ctx_class" in vars(cls)]


def _enter(self):
    enter = self._ctx_own_enter
    if enter is not None:
        enter()
    for cls in _context_classes(self):
        _registry.stack(cls).append(self)
    return self


def _exit(self, *error):
    for cls in _context_classes(self):
        _registry.stack(cls).pop()
    leave = self._ctx_own_exit
    if leave is not None:
        leave(*error)


def _call(self, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with self:
            return function(*args, **kwargs)

    return call


def define_context(arg_name: str | None = None,
                   allow_default: bool = False) -> Callable[[type], type]:
    """Decorator of a class whose objects become current in a ``with`` block, or in the functions
    that they decorate. Adds the class method current(value=None, required=True).

    `arg_name` has no effect; it exists for Caffe2's programs. With `allow_default` an object is
    made if none is current.
    """

    def decorate(cls):
        cls._ctx_class = cls
        cls._ctx_allow_default = allow_default
        cls._ctx_own_enter = getattr(cls, "__enter__", None)
        cls._ctx_own_exit = getattr(cls, "__exit__", None)
        cls.__enter__, cls.__exit__, cls.__call__ = _enter, _exit, _call
        cls.current = classmethod(get_active_context)
        return cls

    return decorate


class Managed:
    """Base of classes whose objects become current in a ``with`` block, or in the functions that
    they decorate. define_context does the same for classes without this base."""

    _ctx_own_enter: Callable[[], object] | None = None
    _ctx_own_exit: Callable[..., object] | None = None
    _ctx_allow_default = False
    _ctx_class: type

    def __enter__(self: _Managed) -> _Managed:
        return _enter(self)

    def __exit__(self, *error: Any) -> None:
        _exit(self, *error)

    def __call__(self, function: _F) -> _F:
        return _call(self, function)

    @overload
    @classmethod
    def current(cls: type[_Managed], value: _Managed | None = ...,
                required: Literal[True] = ...) -> _Managed: ...

    @overload
    @classmethod
    def current(cls: type[_Managed], value: _Managed | None = ...,
                required: bool = ...) -> _Managed | None: ...

    @classmethod
    def current(cls: Any, value: Any = None, required: bool = True) -> Any:
        """`value`, or the innermost current object of this class; see get_active_context."""
        return get_active_context(cls, value, required)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls._ctx_class = cls


class DefaultManaged(Managed):
    """A Managed class that makes an object if none is current."""

    _ctx_allow_default = True

    @classmethod
    def current(cls: type[_DefaultManaged], value: _DefaultManaged | None = None,
                required: bool = True) -> _DefaultManaged:
        """`value`, or the innermost current object of this class, made if there is none."""
        return get_active_context(cls, value, required)
