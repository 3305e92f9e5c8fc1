"""Names of blobs, and references to them."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any, Union

from caffe2.python import scope
from caffe2.python._core.operator_help import operator_method
from caffe2.python._core.operator_methods import OperatorMethodsOfBlob
from caffe2.python._core.operator_types import CheckOperatorType, registered_operators

# The name of a blob, or of several; functions also take bytes.
BlobLike = Union["BlobReference", str]
BlobsLike = Union[BlobLike, Sequence[BlobLike]]


def ScopedName(name: str | bytes) -> str:
    """The name under the current name scope."""
    return scope.CurrentNameScope() + (name.decode() if isinstance(name, bytes) else name)


def ScopedBlobReference(name: str | bytes, *args: Any, **kwargs: Any) -> BlobReference:
    """A BlobReference under the current name scope."""
    return BlobReference(ScopedName(name), *args, **kwargs)


class BlobReference(OperatorMethodsOfBlob):
    """The name of a blob, and the net it came from.

    Calling an operator type on it adds the operator to that net with this blob as the first
    input: ``x.Relu([], "y")`` is ``net.Relu(x, "y")``. A reference compares and hashes as its name.
    """

    def __init__(self, name: BlobLike | bytes, net: Any = None) -> None:
        if not isinstance(name, (BlobReference, bytes, str)):
            raise TypeError(f"a blob name is a string, not {name!r}")
        self._name: str = name.decode() if isinstance(name, bytes) else str(name)
        self._from_net = net
        self.meta: dict[Any, Any] = {}

    def __hash__(self) -> int:
        return hash(self._name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            return self._name == other
        if isinstance(other, bytes):
            return self._name == other.decode()
        if isinstance(other, BlobReference):
            return self._name == other._name
        return False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f'BlobReference("{self._name}")'

    def __add__(self, other: str) -> BlobReference:
        if not isinstance(other, str):
            raise TypeError(f"cannot append {other!r} to a blob name; net.Add adds the values of "
                            "blobs")
        return BlobReference(self._name + other, self._from_net)

    def __radd__(self, other: str) -> BlobReference:
        if not isinstance(other, str):
            raise TypeError(f"cannot put {other!r} before a blob name")
        return BlobReference(other + self._name, self._from_net)

    def GetName(self) -> str:
        """The name, with its scope."""
        return self._name

    def Net(self) -> Any:
        """The net that the reference came from, or None."""
        return self._from_net

    def GetNameScope(self) -> str:
        """The name up to and with its last "/"; "" if it has none."""
        return self._name[: self._name.rfind(scope._NAMESCOPE_SEPARATOR) + 1]

    def GetUnscopedName(self) -> str:
        """The name after its last "/"."""
        return self._name[self._name.rfind(scope._NAMESCOPE_SEPARATOR) + 1 :]

    def _create_in_net(self, op_type, inputs=None, *args, **kwargs):
        if self._from_net is None:
            raise AttributeError(
                f"You cannot use {op_type} on a blob reference that does not have a net source "
                "associated with it.")
        inputs = [] if inputs is None else rectify_blobs(inputs)
        return self._from_net._create_and_add(op_type, [self, *inputs], *args, **kwargs)

    def _operator(self, op_type: str) -> Callable[..., Any]:
        if self._from_net is None:
            raise AttributeError(
                f"You cannot use {op_type} on a blob reference that does not have a net source "
                "associated with it.")
        CheckOperatorType(op_type, type(self))
        return operator_method(op_type, self._create_in_net)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *(registered_operators() if self._from_net else ())})


def output_to_list(op_output: BlobReference | Sequence[BlobReference]) -> list[BlobReference]:
    """The result of an operator call, one BlobReference or several, as a list.

    Raises TypeError for anything else.
    """
    if isinstance(op_output, BlobReference):
        return [op_output]
    if isinstance(op_output, (list, tuple)):
        return list(op_output)
    raise TypeError(f"expects a BlobReference or several, got {op_output!r}")


def _described(value):
    """A value that is no blob, and what to give."""
    hint = " or a list of them"
    if hasattr(value, "__array__") or isinstance(value, (int, float)):
        hint += "; workspace.FeedBlob makes a blob of an array"
    text = textwrap.shorten(repr(value), 80)
    return f"{text} of type {type(value)}; give the name of a blob, a BlobReference{hint}"


def rectify_blobs(blobs: BlobsLike, net: Any = None) -> list[BlobReference]:
    """A list of BlobReference from one blob or a list of them; strings get the name scope.

    Raises TypeError for anything that cannot be a blob.
    """
    if isinstance(blobs, BlobReference):
        return [blobs]
    if isinstance(blobs, (str, bytes)):
        return [ScopedBlobReference(blobs, net=net)]
    if isinstance(blobs, (list, tuple)):
        references = []
        for i, blob in enumerate(blobs):
            if isinstance(blob, BlobReference):
                references.append(blob)
            elif isinstance(blob, (str, bytes)):
                references.append(ScopedBlobReference(blob, net=net))
            else:
                raise TypeError(f"I/O blob #{i} of unsupported type: {_described(blob)}")
        return references
    raise TypeError(f"Unknown input/output type: {_described(blobs)}")
