"""Optimizers by name for the parameters that are created within a block."""

from __future__ import annotations

from typing import Any

from caffe2.python import context
from caffe2.python.modifier_context import DEFAULT_MODIFIER, ModifierContext, UseModifierBase

DEFAULT_OPTIM = DEFAULT_MODIFIER


class OptimizerContext(ModifierContext, context.DefaultManaged):
    """The optimizers of the open UseOptimizer blocks, inner ones first."""

    def has_optimizer(self, name: str) -> bool:
        """True if an open block has an optimizer of this name."""
        return self._has_modifier(name)

    def get_optimizer(self, name: str) -> Any:
        """The optimizer of this name in the innermost block that has it; raises KeyError."""
        return self._provided_modifier(name, "optimizer")


class UseOptimizer(UseModifierBase):
    """``with UseOptimizer(optimizer):`` for all parameters, or
    ``with UseOptimizer({"SPARSE": first, "WEIGHT": second}):``."""

    def _context_class(self):
        return OptimizerContext
