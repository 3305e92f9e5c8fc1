"""Functions that are called before an unknown operator is looked for; the same as in core."""

from caffe2.python._core.operator_types import RegisterLazyImport, TriggerLazyImport

__all__ = ["RegisterLazyImport", "TriggerLazyImport"]
