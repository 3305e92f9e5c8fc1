"""Optimizers by name for the parameters that are created within a block."""

from caffe2.python import context

DEFAULT_OPTIM = "DEFAULT"


@context.define_context(allow_default=True)
class OptimizerContext:
    """The optimizers of the open UseOptimizer blocks, inner ones first."""

    def __init__(self):
        self._stack = []

    def has_optimizer(self, name):
        """Whether an open block names it."""
        return any(name in optimizers for optimizers in self._stack)

    def get_optimizer(self, name):
        """Raises KeyError if no open block names it."""
        for optimizers in reversed(self._stack):
            if name in optimizers:
                return optimizers[name]
        raise KeyError(f"{name} optimizer is not provided!")

    def push_optimizers(self, optimizers):
        """Opens a block with {name: optimizer}."""
        self._stack.append(dict(optimizers))

    def pop_optimizers(self):
        """Ends the innermost block."""
        self._stack.pop()


class UseOptimizer:
    """``with UseOptimizer(optimizer):`` for all parameters, or
    ``with UseOptimizer({"SPARSE": first, "WEIGHT": second}):``."""

    def __init__(self, context_or_optimizer):
        if not isinstance(context_or_optimizer, dict):
            context_or_optimizer = {DEFAULT_OPTIM: context_or_optimizer}
        self._optimizers = context_or_optimizer

    def __enter__(self):
        OptimizerContext.current().push_optimizers(self._optimizers)
        return self

    def __exit__(self, *error):
        OptimizerContext.current().pop_optimizers()
