"""Optimizers by name for the parameters that are created within a block."""

from caffe2.python import context
from caffe2.python.modifier_context import DEFAULT_MODIFIER, ModifierContext, UseModifierBase

DEFAULT_OPTIM = DEFAULT_MODIFIER


class OptimizerContext(ModifierContext, context.DefaultManaged):
    """The optimizers of the open UseOptimizer blocks, inner ones first."""

    def has_optimizer(self, name):
        """Whether an open block names it."""
        return self._has_modifier(name)

    def get_optimizer(self, name):
        """Raises KeyError if no open block names it."""
        return self._provided_modifier(name, "optimizer")


class UseOptimizer(UseModifierBase):
    """``with UseOptimizer(optimizer):`` for all parameters, or
    ``with UseOptimizer({"SPARSE": first, "WEIGHT": second}):``."""

    def _context_class(self):
        return OptimizerContext
