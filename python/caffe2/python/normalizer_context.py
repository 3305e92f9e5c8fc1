"""Normalizers by name for the layers that are created within a block."""

from __future__ import annotations

from caffe2.python import context
from caffe2.python.modifier_context import ModifierContext, UseModifierBase
from caffe2.python.normalizer import Normalizer


class NormalizerContext(ModifierContext, context.DefaultManaged):
    """The normalizers of the open UseNormalizer blocks, inner ones first."""

    def has_normalizer(self, name: str) -> bool:
        """True if an open block has a normalizer of this name."""
        return self._has_modifier(name)

    def get_normalizer(self, name: str) -> Normalizer:
        """The normalizer of this name in the innermost block that has it; raises KeyError."""
        return self._provided_modifier(name, "normalizer")


class UseNormalizer(UseModifierBase):
    """``with UseNormalizer({"BATCH": BatchNormalizer(0.1)}):`` around calls of
    ``NormalizerContext.current().get_normalizer("BATCH")``."""

    def _context_class(self):
        return NormalizerContext
