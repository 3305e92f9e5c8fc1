"""Regularizers by name for the layers that are created within a block."""

from __future__ import annotations

from typing import Any

from caffe2.python import context
from caffe2.python.modifier_context import ModifierContext, UseModifierBase


class RegularizerContext(ModifierContext, context.DefaultManaged):
    """The regularizers of the open UseRegularizer blocks, inner ones first."""

    def has_regularizer(self, name: str) -> bool:
        """True if an open block has a regularizer of this name."""
        return self._has_modifier(name)

    def get_regularizer(self, name: str) -> Any:
        """The regularizer of this name in the innermost block that has it; raises KeyError."""
        return self._provided_modifier(name, "regularizer")


class UseRegularizer(UseModifierBase):
    """``with UseRegularizer({"WEIGHT": L1Norm(0.1)}):`` around calls of
    ``RegularizerContext.current().get_regularizer("WEIGHT")``."""

    def _context_class(self):
        return RegularizerContext
