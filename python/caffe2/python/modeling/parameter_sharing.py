"""Parameters that layers in different name scopes share."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from caffe2.python import scope


class ParameterSharingContext:
    """The name scopes that take their parameters from other scopes."""

    def __init__(self) -> None:
        # One of each open ParameterSharing, the innermost last.
        self._overrides: list[Mapping[str, str]] = []

    def _resolve(self, name_scope):
        overrides = {key: value for context in self._overrides for key, value in context.items()}
        prefixes = [key for key in overrides if name_scope.startswith(key)]
        if not prefixes:
            return name_scope
        longest = max(prefixes, key=len)
        return self._resolve(overrides[longest]) + name_scope[len(longest):]

    def get_parameter_name(self, name: str) -> str:
        """The full name of a parameter that is created as `name` in the current name scope."""
        return self._resolve(scope.CurrentNameScope()) + name

    def add_scope_overrides(self, shared_scopes: Mapping[str, str]) -> None:
        """Adds overrides {scope: the scope whose parameters it uses}."""
        self._overrides.append(shared_scopes)

    def pop(self) -> None:
        """Removes the last overrides."""
        self._overrides.pop()


parameter_sharing_context = ParameterSharingContext()


def _with_separator(name_scope):
    if name_scope and not name_scope.endswith(scope._NAMESCOPE_SEPARATOR):
        return name_scope + scope._NAMESCOPE_SEPARATOR
    return name_scope


@contextlib.contextmanager
def ParameterSharing(shared_scopes: Mapping[str, str]) -> Iterator[None]:
    """Within the block, parameters created in one name scope are the parameters of another:

        with ParameterSharing({"decoder": "encoder"}), core.NameScope("decoder"):
            brew.fc(model, x, "fc", 4, 4)  # reads encoder/fc_w and encoder/fc_b

    Scopes are relative to the current one, which is "". Raises ValueError if a scope would take its
    parameters from a scope inside itself.
    """
    current = scope.CurrentNameScope()
    overrides = {}
    for taker, giver in shared_scopes.items():
        if giver.startswith(taker):
            raise ValueError(f"scope {taker} cannot take parameters from {giver}, within itself")
        overrides[_with_separator(current + taker)] = _with_separator(current + giver)
    parameter_sharing_context.add_scope_overrides(overrides)
    try:
        yield
    finally:
        parameter_sharing_context.pop()
