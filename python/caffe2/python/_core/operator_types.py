"""The operator types of the library, and their arguments."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable

from caffe2.python import _import_c_extension as C
from caffe2.python._core.argument_limits import Limits, limits_of
from caffe2.python._core.argument_types import ArgumentRule, argument_rules
from caffe2.python._core.operator_suggestions import operator_suggestion
from caffe2.python._core.schema_text import argument_text

_registered_operators = frozenset(C.registered_operators())

# Functions that load libraries of operators when an unknown one is looked up; see lazy_dyndep.
_lazy_imports: list[Callable[[], object]] = []
_lazy_lock = threading.RLock()
_loading = False


def RegisterLazyImport(load: Callable[[], object]) -> None:
    """Keeps a function that is called before the next lookup of an unknown operator and before the
    next net is made. A call that raises is repeated the next time."""
    _lazy_imports.append(load)


def TriggerLazyImport() -> None:
    """Calls the functions of RegisterLazyImport that were not called yet. Other threads wait
    meanwhile. A function that raises is called again the next time."""
    global _loading
    if not _lazy_imports:
        return
    with _lazy_lock:
        if _loading:
            return  # one of the functions looks an operator up itself
        _loading = True
        try:
            while _lazy_imports:
                _lazy_imports[0]()
                # Only now: other threads take an empty list to mean that all is loaded.
                _lazy_imports.pop(0)
        finally:
            _loading = False


def RefreshRegisteredOperators(trigger_lazy: bool = True) -> None:
    """Reads the registered operators again, after a library was loaded. With `trigger_lazy`, first
    loads the libraries that were registered with lazy_dyndep."""
    global _registered_operators
    if trigger_lazy:
        TriggerLazyImport()
    _registered_operators = frozenset(C.registered_operators())
    operator_suggestion.cache_clear()
    argument_names.cache_clear()
    rules_of_arguments.cache_clear()
    limits_of_arguments.cache_clear()
    operand_limits.cache_clear()


def registered_operators() -> frozenset[str]:
    """The keys of all implementations: operator types, also with engines."""
    return _registered_operators


def _is_registered(key):
    if key not in _registered_operators and _lazy_imports:
        RefreshRegisteredOperators()
    return key in _registered_operators


def IsOperator(op_type: str) -> bool:
    """True if the operator type is implemented, on any device."""
    return _is_registered(op_type)


def IsOperatorWithEngine(op_type: str, engine: str) -> bool:
    """True if the operator type has an implementation under the name of an engine."""
    return _is_registered(C.op_registry_key(op_type, engine))


def CheckOperatorType(op_type: str, owner: type = object) -> None:
    """Raises AttributeError, with what was probably meant, if the type is not registered. `owner`
    is the class whose methods may have been meant, too."""
    if not IsOperator(op_type) and not IsOperatorWithEngine(op_type, "CUDNN"):
        suggestion = operator_suggestion(op_type, _registered_operators, _public_names(owner))
        raise AttributeError(f"Method {op_type} is not a registered operator.{suggestion}")


@functools.cache
def _public_names(owner):
    return frozenset(name for name in dir(owner) if not name.startswith("_"))


@functools.cache
def argument_names(op_type: str) -> frozenset[str] | None:
    """The arguments that the schema of an operator type describes; None if there is no schema."""
    schema = C.OpSchema.get(op_type)
    return None if schema is None else frozenset(argument_rules(schema))


@functools.cache
def operand_limits(op_type: str) -> tuple[tuple[str, int, int], ...]:
    """("input", fewest, most) and ("output", fewest, most) of an operator type; () if there is no
    schema."""
    schema = C.OpSchema.get(op_type)
    if schema is None:
        return ()
    return (("input", schema.min_input, schema.max_input),
            ("output", schema.min_output, schema.max_output))


@functools.cache
def rules_of_arguments(op_type: str) -> tuple[dict[str, ArgumentRule], dict[str, str]]:
    """The rules of the arguments of an operator type, by name; and the descriptions of the
    arguments that must be given, by name."""
    schema = C.OpSchema.get(op_type)
    if schema is None:
        return {}, {}
    return argument_rules(schema), {
        argument.name: argument_text(argument) for argument in schema.args if argument.required}


@functools.cache
def limits_of_arguments(op_type: str) -> dict[str, Limits]:
    """The limits of the arguments of an operator type, by name; without arguments of any value."""
    schema = C.OpSchema.get(op_type)
    if schema is None:
        return {}
    limits = ((argument.name, limits_of(argument.description)) for argument in schema.args)
    return {name: limit for name, limit in limits if limit is not None}
