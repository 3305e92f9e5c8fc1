"""Objects that are current within a ``with`` block, for each thread."""

import functools
import threading


class _ContextRegistry:
    """The stacks of current objects, by class and thread."""

    def __init__(self):
        self._thread = threading.local()

    def stack(self, cls):
        return self._thread.__dict__.setdefault(cls, [])


_registry = _ContextRegistry()


def get_active_context(cls, val=None, required=True):
    """`val`, or the innermost current object of a context class.

    Raises TypeError for a value of another class, RuntimeError if there is none and it is required.
    """
    if val is not None:
        if not isinstance(val, cls):
            raise TypeError(f"Wrong context type. Expected: {cls}, got {type(val)}.")
        return val
    stack = _registry.stack(cls._ctx_class)
    if stack:
        return stack[-1]
    if cls._ctx_allow_default:
        stack.append(cls())
        return stack[-1]
    if required:
        raise RuntimeError(f"Context of type {cls} is missing.")
    return None


def _enter(self):
    enter = self._ctx_own_enter
    if enter is not None:
        enter()
    _registry.stack(self._ctx_class).append(self)
    return self


def _exit(self, *error):
    _registry.stack(self._ctx_class).pop()
    leave = self._ctx_own_exit
    if leave is not None:
        leave(*error)


def _call(self, function):
    @functools.wraps(function)
    def call(*args, **kwargs):
        with self:
            return function(*args, **kwargs)

    return call


def define_context(arg_name=None, allow_default=False):
    """Decorator of a class whose objects become current in a ``with`` block, or in the functions
    that they decorate. Adds the class method current(value=None, required=True).

    `arg_name` has no meaning any more; with `allow_default` an object is made where none is
    current.
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
