"""Classes whose methods are the operators of the library.

The build writes the stub of this module, operator_methods.pyi, with a method for each operator
(scripts/make_operator_stub.py): editors complete operators by it, and type checkers check their
calls. Without it, as in the source folder, type checkers take any name for an operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Operators:
    """Asks a subclass for the attributes that it lacks."""

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if op_type.startswith("_"):
            raise AttributeError(op_type)
        return self._operator(op_type)

    def _operator(self, op_type: str) -> Callable[..., Any]:
        raise NotImplementedError(f"{type(self).__name__} defines _operator")


class OperatorMethods(_Operators):
    """The base of classes with a method for each operator: ``net.Relu("x", "y")``. They define
    _operator(op_type), the method of an operator; it raises AttributeError for other names."""


class OperatorMethodsOfBlob(_Operators):
    """As OperatorMethods, of a blob that is the first input: ``x.Relu([], "y")``."""
