"""Checks of the arguments of layers and optimizers, which raise ValueError with one line."""

from __future__ import annotations

import difflib
import numbers
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

_POSITIVE = ("dim_in", "dim_out", "group")
_INITIAL = ("weight_init", "bias_init", "mask_init")
_WINDOW = ("kernel", "stride", "dilation")
_SIDES = ("", "s", "_h", "_w")


def _is_integer(value):
    return isinstance(value, numbers.Integral) and not isinstance(value, bool)


def _check_window(helper, arguments):
    """Each size is at least 1; a pool over the whole image may say 0. Operators check types."""
    least = 0 if arguments.get("global_pooling") else 1
    for name in (base + side for base in _WINDOW for side in _SIDES):
        value = arguments.get(name)
        sizes = value if isinstance(value, (list, tuple)) else [value]
        if any(_is_integer(size) and size < least for size in sizes):
            raise ValueError(f"{helper}: {name} is {value}, must be at least {least}")


def check_layer(helper: str, arguments: Mapping[str, Any]) -> None:
    """Raises ValueError, which names helper, argument and value, for arguments by name that no
    layer can have: sizes that are no positive integers, a ratio outside of [0, 1), or a name
    where an operator and its arguments are needed."""
    for name in _POSITIVE:
        if name in arguments and not (_is_integer(arguments[name]) and arguments[name] > 0):
            raise ValueError(f"{helper}: {name} is {arguments[name]!r}, must be a positive integer")
    for name in _INITIAL:
        value = arguments.get(name)
        if isinstance(value, str) or hasattr(value, "__array__"):
            example = value if isinstance(value, str) else "XavierFill"
            raise ValueError(f"{helper}: {name} is {textwrap.shorten(repr(value), 80)}, must be a "
                             f"pair of operator and arguments, such as ({example!r}, {{}})")
    _check_window(helper, arguments)
    ratio = arguments.get("ratio")
    if isinstance(ratio, numbers.Real) and not 0 <= float(ratio) < 1:
        raise ValueError(f"{helper}: ratio is {ratio}, must be at least 0 and less than 1")


def check_spelling(owner: str, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Raises ValueError for a name that is not known but resembles a known one. Others may be
    arguments of operators."""
    known = list(known)
    for name in names:
        near = difflib.get_close_matches(name, known, 1, 0.8)
        if near and name not in known:
            raise ValueError(f"{owner} has no {kind} {name}; did you mean {near[0]}?")
