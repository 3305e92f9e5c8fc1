"""Regularizers by name for the layers that are created within a block."""

from caffe2.python import context
from caffe2.python.modifier_context import ModifierContext, UseModifierBase


class RegularizerContext(ModifierContext, context.DefaultManaged):
    """The regularizers of the open UseRegularizer blocks, inner ones first."""

    def has_regularizer(self, name):
        """Whether an open block names it."""
        return self._has_modifier(name)

    def get_regularizer(self, name):
        """Raises KeyError if no open block names it."""
        return self._provided_modifier(name, "regularizer")


class UseRegularizer(UseModifierBase):
    """``with UseRegularizer({"WEIGHT": L1Norm(0.1)}):`` around calls of
    ``RegularizerContext.current().get_regularizer("WEIGHT")``."""

    def _context_class(self):
        return RegularizerContext
