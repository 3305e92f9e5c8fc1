"""What nets and plans know of the builders that lie above them: NetBuilder and TaskGroup."""

from __future__ import annotations

from typing import Any

from caffe2.python import context


class StepBuilder:
    """Base of what core.to_execution_step makes a step of, besides nets and steps."""

    def to_step(self, default_name: str | None = None) -> Any:
        """The ExecutionStep, under `default_name` if the builder has no name."""
        raise NotImplementedError(f"{type(self).__name__} makes no step")


class NetBlock(StepBuilder, context.Managed):
    """Base of NetBuilder: within its ``with`` block, core.Net.current_prefix is its name."""

    name = ""
