"""The schemas of operators as docstrings and signatures, for help() and notebooks."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from caffe2.python import _import_c_extension as C
from caffe2.python._core.schema_text import keyword_arguments, schema_doc


class _OperatorsDefault:
    """The default of an argument that only the operator knows."""

    def __repr__(self) -> str:
        return "..."


_DEFAULT = _OperatorsDefault()


@functools.cache
def operator_doc(op_type: str) -> str:
    """The docstring of an operator: what it computes, inputs, outputs and arguments."""
    return schema_doc(C.OpSchema.get(op_type), op_type)


@functools.cache
def operator_signature(op_type: str) -> inspect.Signature:
    """(inputs, outputs, and the schema's arguments by keyword). Arguments without a value are left
    to the operator's default."""
    kind = inspect.Parameter
    return inspect.Signature([
        kind("inputs", kind.POSITIONAL_OR_KEYWORD, default=()),
        kind("outputs", kind.POSITIONAL_OR_KEYWORD, default=None),
        *(kind(name, kind.KEYWORD_ONLY, default=_DEFAULT)
          for name in keyword_arguments(C.OpSchema.get(op_type))),
        kind("arguments", kind.VAR_KEYWORD)])


def _too_many_operands(op_type, args):
    """The text for the call of an operator with blobs one by one, as functions of PyTorch have."""
    text = (f"operator {op_type} takes its inputs and its outputs, each a blob or a list of them, "
            f"and arguments by name, not {len(args)} values")
    names = [str(arg) for arg in args if isinstance(arg, str) or hasattr(arg, "GetName")]
    if len(names) < len(args):
        return text
    inputs = ", ".join(f'"{name}"' for name in names[:-1])
    return f'{text}: {op_type}([{inputs}], "{names[-1]}")'


def operator_method(op_type: str, create: Callable[..., Any]) -> Callable[..., Any]:
    """A function that calls ``create(op_type, ...)`` and that help() shows as the operator."""

    def method(*args, **kwargs):
        if len(args) > 2:
            raise TypeError(_too_many_operands(op_type, args))
        return create(op_type, *args, **kwargs)

    method.__name__ = method.__qualname__ = op_type
    method.__doc__ = operator_doc(op_type)
    method.__signature__ = operator_signature(op_type)  # type: ignore[attr-defined]
    return method
