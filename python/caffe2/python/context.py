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


def get_active_context(cls, value=None, required=True):
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
    """The class of an object and those of its bases of which it is current."""
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


class Managed:
    """Base of classes with define_context()."""

    _ctx_own_enter = _ctx_own_exit = None
    _ctx_allow_default = False
    __enter__, __exit__, __call__ = _enter, _exit, _call
    current = classmethod(get_active_context)

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._ctx_class = cls


class DefaultManaged(Managed):
    """Base of classes with define_context(allow_default=True)."""

    _ctx_allow_default = True
