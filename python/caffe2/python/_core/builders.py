"""The bases of NetBuilder and TaskGroup, through which nets and plans use them."""

from __future__ import annotations

from typing import Any

from caffe2.python import context


class StepBuilder:
    """Base of the objects, besides nets and steps, that core.to_execution_step turns into a
    step."""

    def to_step(self, default_name: str | None = None) -> Any:
        """The ExecutionStep, under `default_name` if the builder has no name."""
        raise NotImplementedError(f"{type(self).__name__} makes no step")


class NetBlock(StepBuilder, context.Managed):
    """Base of NetBuilder. Within its ``with`` block, core.Net.current_prefix returns its name."""

    name = ""
