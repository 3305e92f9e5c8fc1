"""Optimizers, regularizers and normalizers by name, for objects that are created within a block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEFAULT_MODIFIER = "DEFAULT"


class ModifierContext:
    """The modifiers of the open blocks. An inner block's modifier hides an outer one's."""

    def __init__(self) -> None:
        self._stack: list[dict[str, Any]] = []

    def _has_modifier(self, name):
        return any(name in modifiers for modifiers in self._stack)

    def _get_modifier(self, name):
        for modifiers in reversed(self._stack):
            if name in modifiers:
                return modifiers[name]
        return None

    def _provided_modifier(self, name, kind):
        if not self._has_modifier(name):
            raise KeyError(f"{name} {kind} is not provided!")
        return self._get_modifier(name)

    def push_modifiers(self, modifiers: Mapping[str, Any]) -> None:
        """Opens a block with {name: modifier}."""
        self._stack.append(dict(modifiers))

    def pop_modifiers(self) -> None:
        """Ends the innermost block. Raises RuntimeError if none is open."""
        if not self._stack:
            raise RuntimeError(f"{type(self).__name__} has no open block of modifiers to end")
        self._stack.pop()


class UseModifierBase:
    """A block with one modifier, named "DEFAULT", or with {name: modifier}. Subclasses define
    _context_class(), the class whose current object holds the modifiers."""

    def __init__(self, modifier_or_dict: Any) -> None:
        if not isinstance(modifier_or_dict, dict):
            modifier_or_dict = {DEFAULT_MODIFIER: modifier_or_dict}
        self._modifiers = modifier_or_dict

    def _context_class(self):
        raise NotImplementedError("a block of modifiers defines _context_class")

    def __enter__(self) -> UseModifierBase:
        self._context_class().current().push_modifiers(self._modifiers)
        return self

    def __exit__(self, *error: object) -> None:
        self._context_class().current().pop_modifiers()
