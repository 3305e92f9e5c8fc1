"""Builds nets and steps in the way that one writes a program:

    with NetBuilder() as nb:
        count = ops.Const(0)
        with ops.loop(10):
            ops.Add([count, ops.Const(1)], [count])
    workspace.RunPlan(to_execution_step(nb))

`ops` adds to the innermost NetBuilder. A Task opens one in its ``with`` block.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.net_builder import NetBuilder
from caffe2.python._core.operator_methods import OperatorMethods
from caffe2.python.control_ops_util import add_if_op, add_while_op
from caffe2.python.task import Task, TaskGroup

__all__ = ["NetBuilder", "Operations", "ops"]


class Operations(OperatorMethods):
    """Adds operators and control flow to the current NetBuilder; `ops` is its one object."""

    def net(self, net: core.Net | None = None, name: str | None = None) -> core.Net:
        """The current net, or `net`, which becomes the current one."""
        builder = NetBuilder.current()
        if net is not None:
            if name is not None:
                raise ValueError("Cannot provide both `net` and `name`")
            builder.add(net)
            return net
        return builder.current_net(name=name)

    def __getattr__(self, op_type: str) -> Callable[..., Any]:
        if op_type.startswith("__"):
            raise AttributeError(op_type)
        return getattr(self.net(), op_type)

    def stop(self) -> None:
        """Ends the current step here."""
        self.stop_if(self.Const(True))

    def stop_if(self, blob: BlobLike) -> None:
        """Ends the current step here if the bool blob is true."""
        NetBuilder.current().stop_if(blob)

    def loop(self, iters: int | core.BlobReference | None = None, name: str | None = None) -> _Loop:
        """``with ops.loop(iters) as loop``: repeats the block `iters` times (a number or a blob),
        or until it is stopped. loop.iter() is the number of the iteration, a blob."""
        return NetBuilder.current().add(_Loop(iters, name=name))

    def stop_guard(self, has_stopped_blob: core.BlobReference | None = None,
                   name: str | None = None) -> _StopGuard:
        """A block that ops.stop() and ops.stop_if() can end without ending the step around it.
        guard.has_stopped() is a bool blob: whether the block was stopped."""
        return NetBuilder.current().add(
            _StopGuard(has_stopped_blob=has_stopped_blob, name=name))

    def If(  # type: ignore[override]  # the operator is of nets
            self, cond: core.BlobReference, name: str | None = None) -> _RunIf:
        """A block that runs if the bool blob is true. The builder's other operators follow it.

        ``with ops.If(a) as c: ...``, ``with c.Elif(b) as c: ...``, ``with c.Else(): ...``
        """
        return NetBuilder.current().add(_RunIf(cond, name=name))

    def Else(self, name: str | None = None) -> _RunIf | _ElseNet:
        """A block that runs if the block of the If, Elif or IfNet right before it did not."""
        builder = NetBuilder.current()
        if _follows_if_net(builder):
            return _ElseNet(name=name)
        if not builder._children or not isinstance(builder._children[-1], _RunIf):
            raise ValueError("Else must follow If")
        return builder._children[-1].Else(name)

    def IfNet(self, cond: BlobLike, name: str | None = None) -> _IfNet:
        """Like If, but the block becomes an operator, whose gradient is defined. Blobs that the
        block makes are local to it; it can also overwrite blobs that existed before."""
        return _IfNet(cond, name=name)

    def ElseNet(self, name: str | None = None) -> _ElseNet:
        """The else branch of the IfNet right before it."""
        return _ElseNet(name=name)

    def WhileNet(self, name: str | None = None) -> _WhileNet:
        """A loop that becomes an operator: within the block, ``with ops.Condition():`` computes a
        bool blob as its last output, and the body follows."""
        return _WhileNet(name=name)

    def ConditionNet(self, name: str | None = None) -> _ConditionNet:
        """A Condition block in which ops.Condition(blob) chooses the blob of the result."""
        return _ConditionNet(name=name)

    def Condition(self, name: str | core.BlobReference | None = None) -> Any:
        """The condition of a WhileNet: a block of this name. Within ConditionNet, called with a
        bool blob instead of a name, makes that blob the result."""
        if not isinstance(name, core.BlobReference):
            return _ConditionNet(name=name)
        builder = NetBuilder.current()
        if not isinstance(builder, _ConditionNet):
            raise ValueError("Condition belongs in a ConditionNet")
        builder.set_condition(name)

    def _setup(self, attribute, type, name=None):
        setup = _SetupBuilder(type, name)
        self.net().add_attribute(attribute, setup)
        return setup

    def task_init(self) -> NetBuilder:
        """Operators that run once, before the task does."""
        return self._setup(Task.TASK_SETUP, _SetupBuilder.INIT)

    def task_exit(self) -> NetBuilder:
        """Operators that run once, after the task."""
        return self._setup(Task.TASK_SETUP, _SetupBuilder.EXIT)

    def task_instance_init(self) -> NetBuilder:
        """Operators that run before each instance of the task."""
        return self._setup(Task.TASK_INSTANCE_SETUP, _SetupBuilder.INIT)

    def task_instance_exit(self) -> NetBuilder:
        """Operators that run after each instance of the task."""
        return self._setup(Task.TASK_INSTANCE_SETUP, _SetupBuilder.EXIT)

    def local_init(self) -> NetBuilder:
        """Operators that run once on the node, before all of its tasks."""
        return self._setup(TaskGroup.LOCAL_SETUP, _SetupBuilder.INIT)

    def local_exit(self, name: str | None = None) -> NetBuilder:
        """Operators that run once on the node, after all of its tasks."""
        return self._setup(TaskGroup.LOCAL_SETUP, _SetupBuilder.EXIT, name)

    def task_reporter(self, interval_ms: int = 1000, name: str | None = None) -> NetBuilder:
        """Operators that run every `interval_ms` milliseconds while the task runs."""
        return _ReporterBuilder(interval_ms, net=self.net(), name=name)

    def local_reporter(self, interval_ms: int = 1000, name: str | None = None) -> NetBuilder:
        """Operators that run every `interval_ms` milliseconds while any task of the current
        TaskGroup runs."""
        return _ReporterBuilder(interval_ms, name=name)

    def task_group(self) -> TaskGroup:
        """A TaskGroup, whose tasks run as the next step of the current NetBuilder."""
        return NetBuilder.current().add(TaskGroup())


ops = Operations()


class _ReporterBuilder(NetBuilder):
    def __init__(self, interval_ms, net=None, name=None):
        super().__init__(name)
        self._net = net
        self.interval_ms = interval_ms

    def __exit__(self, error_type, *args):
        super().__exit__(error_type, *args)
        if error_type is None:
            step = core.to_execution_step(self)
            if self._net is None:
                TaskGroup.current().report_step(step, interval_ms=self.interval_ms)
            else:
                step.RunEveryMillis(self.interval_ms)
                self._net.add_attribute(Task.REPORT_STEP, step)


class _SetupBuilder(NetBuilder):
    INIT, EXIT = "init", "exit"

    def __init__(self, type, name=None):
        super().__init__(name)
        self.type = type

    def setup(self, net):
        return core.to_execution_step(self) if self.type == self.INIT else None

    def exit(self, net):
        return core.to_execution_step(self) if self.type == self.EXIT else None


class _RunOnce(NetBuilder):
    """A block that runs at most once."""

    def __exit__(self, error_type, *args):
        if error_type is None and self._stop_blob is not None:
            self.current_net().Const(True, blob_out=self._stop_blob)
        super().__exit__(error_type, *args)


class _StopGuard(_RunOnce):
    def __init__(self, has_stopped_blob=None, name=None):
        super().__init__(name)
        self._stopped = has_stopped_blob
        self._ran = False

    def __enter__(self):
        super().__enter__()
        if self._stopped is None:
            self._stopped = self.current_net().Const(True)
        else:
            self.current_net().Const(True, blob_out=self._stopped)
        return self

    def __exit__(self, error_type, *args):
        if error_type is None:
            self._ran = True
            self.current_net().Const(False, blob_out=self._stopped)
        super().__exit__(error_type, *args)

    def has_stopped(self) -> core.BlobReference:
        """The bool blob: whether the block was stopped. Raises ValueError within the block."""
        if not self._ran:
            raise ValueError("Context not used yet.")
        return self._stopped


class _Loop(NetBuilder):
    def __init__(self, iters=None, name=None):
        super().__init__(name, _stop_blob_required=True)
        if iters is not None:
            outer = NetBuilder.current().current_net()
            self._inc = outer.Const(1)
            self._iter = outer.Const(0)
            self._num_iters = iters if isinstance(iters, core.BlobReference) else outer.Const(iters)
        else:
            self._num_iters = None

    def iter(self) -> core.BlobReference:
        """The number of the iteration, from 0: a blob."""
        if self._num_iters is None:
            raise ValueError("This loop does not have a number of iterations.")
        return self._iter

    def __enter__(self):
        super().__enter__()
        if self._num_iters is not None:
            self.stop_if(self.current_net().GE([self._iter, self._num_iters]))
        return self

    def __exit__(self, error_type, *args):
        if error_type is None and self._num_iters is not None:
            self.current_net().Add([self._iter, self._inc], [self._iter])
        super().__exit__(error_type, *args)


class _RunIf(_RunOnce):
    def __init__(self, cond_blob=None, name=None, _already_ran=None):
        super().__init__(name)
        if not isinstance(cond_blob, core.BlobReference) and cond_blob is not None:
            raise TypeError(f"a condition is a blob, not {cond_blob!r}")
        outer = NetBuilder.current().current_net()
        self._is_else = cond_blob is None
        self._follows = _already_ran is not None
        self._already_ran = _already_ran if self._follows else outer.Const(False)
        if not self._is_else:
            # What is tested is the value before the block, which may change the condition.
            self._cond = outer.Copy(cond_blob)

    def __enter__(self):
        super().__enter__()
        if self._follows:
            self.stop_if(self._already_ran)
        if not self._is_else:
            self.stop_if(self.current_net().Not(self._cond))
        self.current_net().Const(True, blob_out=self._already_ran)
        return self

    def Elif(self, cond: core.BlobReference, name: str | None = None) -> _RunIf:
        """A block that runs if no block before it did and the bool blob is true."""
        return self._next(cond, name)

    def Else(self, name: str | None = None) -> _RunIf:
        """A block that runs if no block before it did."""
        return self._next(None, name)

    def _next(self, cond, name):
        if self._is_else:
            raise ValueError("nothing follows Else")
        return NetBuilder.current().add(
            _RunIf(cond, name=name or self.name, _already_ran=self._already_ran))


class _ControlNet(NetBuilder):
    """A block that becomes the net argument of a control operator."""

    def __init__(self, name=None):
        self._outer = NetBuilder.current()
        super().__init__(name, _use_control_ops=True)
        self._outer_scope |= self._outer._lexical_scope()

    def _net_of_block(self):
        """The block as one net. Raises ValueError if it holds steps."""
        nets = self._children
        if not all(isinstance(net, core.Net) for net in nets):
            raise ValueError("a control operator holds operators only, no steps")
        if len(nets) == 1:
            return nets[0]
        joined = core.Net(self.name or "control")
        for net in nets:
            joined.AppendNet(net)
        return joined

    def __exit__(self, error_type, *args):
        super().__exit__(error_type, *args)
        if error_type is None:
            self._finish()


class _IfNet(_ControlNet):
    def __init__(self, cond_blob, name=None):
        super().__init__(name)
        self._cond = cond_blob

    def _finish(self):
        outer = self._outer
        self._scope = outer._lexical_scope()
        net = outer.current_net()
        add_if_op(net, self._cond, self._scope, self._net_of_block())
        outer._last_if_net = (net, len(net.Proto().op), self)


def _follows_if_net(builder):
    """True if the last operator of a builder is an IfNet without an else branch."""
    net, size, _ = getattr(builder, "_last_if_net", (None, 0, None))
    return (net is not None and len(net.Proto().op) == size and builder._children
            and builder._children[-1] is net)


class _ElseNet(_ControlNet):
    def __init__(self, name=None):
        super().__init__(name)
        if not _follows_if_net(self._outer):
            raise ValueError("ElseNet must follow IfNet")
        self._net, _, self._if = self._outer._last_if_net

    def _finish(self):
        # The If is made anew, with both branches.
        proto = self._net.Proto()
        first = next(i for i in range(len(proto.op) - 1, -1, -1) if proto.op[i].type == "If")
        del proto.op[first - 1:]  # with the CreateScope before it
        self._net._InvalidateLookupTables()
        add_if_op(self._net, self._if._cond, self._if._scope, self._if._net_of_block(),
                  self._net_of_block())


class _ConditionNet(_ControlNet):
    def __init__(self, name=None):
        super().__init__(name)
        if not isinstance(self._outer, _WhileNet):
            raise ValueError("Condition belongs in a WhileNet")
        self._condition = None

    def set_condition(self, blob):
        self._condition = blob

    def _finish(self):
        net = self._net_of_block()
        if self._condition is None:
            operators = net.Proto().op
            if not operators or not operators[-1].output:
                raise ValueError("a condition ends with an operator that computes it")
            self._condition = core.BlobReference(operators[-1].output[0], net)
        self._outer._condition_net = net
        self._outer._condition = self._condition


class _WhileNet(_ControlNet):
    _condition_net = None

    def _finish(self):
        if self._condition_net is None:
            raise ValueError("a WhileNet begins with a Condition")
        outer = self._outer
        add_while_op(outer.current_net(), self._condition, outer._lexical_scope(),
                     self._net_of_block(), self._condition_net)
