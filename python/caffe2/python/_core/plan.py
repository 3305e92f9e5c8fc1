"""Execution steps and plans; public through caffe2.python.core."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python._core.blob_reference import BlobReference
from caffe2.python._core.builders import StepBuilder
from caffe2.python._core.net import Net
from caffe2.python._core.unique_names import UniqueNames

# Becomes a step: a step, net or builder, a list of them, or None.
StepLike = Any


def _as_list(item):
    if item is None:
        return []
    return list(item) if isinstance(item, (list, tuple)) else [item]


def get_net_name(netlike: Any) -> Any:
    """The name of a Net or NetDef; anything else as it is."""
    if isinstance(netlike, Net):
        return netlike.Name()
    return netlike.name if isinstance(netlike, caffe2_pb2.NetDef) else netlike


class ExecutionStep:
    """Nets or substeps to run, with their order and the number of repetitions."""

    _names = UniqueNames()

    def __init__(self, name: str | None, nets: Net | Sequence[Net] | None = None,
                 num_iter: int | None = None) -> None:
        self._step = caffe2_pb2.ExecutionStep()
        self._step.name = name or ExecutionStep._names.take("step")
        self._net_dict: dict[str, Net] = {}
        self._is_used = False
        self._substeps: list[ExecutionStep] = []
        for net in _as_list(nets):
            self.AddNet(net)
        if num_iter is not None:
            self._step.num_iter = num_iter

    @classmethod
    def create_from_proto(cls, step_proto: caffe2_pb2.ExecutionStep, net_obj_dict: dict[str, Net],
                          net_proto_dict: Mapping[str, caffe2_pb2.NetDef]) -> ExecutionStep:
        """A step from its message.

        Args:
          step_proto: an ExecutionStep message.
          net_obj_dict: {name in the message: Net}; gets the nets that are made.
          net_proto_dict: {name in the message: NetDef} of nets that are not in net_obj_dict.

        Raises ValueError for a net that is in neither.
        """

        def net_of(name):
            if name not in net_obj_dict:
                if name not in net_proto_dict:
                    raise ValueError(f"step {step_proto.name} runs net {name}, which is not given")
                net_obj_dict[name] = Net(net_proto_dict[name])
            return net_obj_dict[name]

        step = cls(step_proto.name)
        step._step.CopyFrom(step_proto)
        step._step.ClearField("network")
        step._step.ClearField("substep")
        for name in step_proto.network:
            step.AddNet(net_of(name))
        for substep in step_proto.substep:
            step.AddSubstep(cls.create_from_proto(substep, net_obj_dict, net_proto_dict))
        for field in ("report_net", "criteria_network"):
            if step_proto.HasField(field):
                net = net_of(getattr(step_proto, field))
                step._add_net_definition(net)
                setattr(step._step, field, net.Name())
        return step

    def get_net(self, name: str) -> Net:
        """The net of this name, of the step or one of its substeps; raises KeyError."""
        return self._net_dict[name]

    def Proto(self) -> caffe2_pb2.ExecutionStep:
        """The ExecutionStep message."""
        return self._step

    def Name(self) -> str:
        """The name, unique in this process."""
        return self._step.name

    def __str__(self) -> str:
        return self._step.name

    def HasNets(self) -> bool:
        """True if nets were added to it."""
        return len(self._step.network) > 0

    def HasSubsteps(self) -> bool:
        """True if steps were added to it."""
        return len(self._step.substep) > 0

    def Nets(self) -> list[Net]:
        """The nets of the step and of its substeps."""
        return list(self._net_dict.values())

    def Substeps(self) -> list[ExecutionStep]:
        """The steps that were added to it."""
        return self._substeps

    def _check_unused(self):
        if self._is_used:
            raise ValueError(f"step {self.Name()} is part of another step or a plan already")

    def _notify_is_used(self):
        self._is_used = True

    def AddNet(self, net: Net) -> ExecutionStep:
        """Adds a net to run; returns this step. Raises TypeError for anything else, ValueError if
        the step has substeps."""
        self._check_unused()
        if not isinstance(net, Net):
            raise TypeError(f"a step runs nets, not {net!r}")
        if self.HasSubsteps():
            raise ValueError("a step has nets or substeps, not both")
        self._step.network.append(net.Name())
        self._add_net_definition(net)
        return self

    def _add_net_definition(self, net):
        if self._net_dict.setdefault(net.Name(), net) is not net:
            raise ValueError(f"two nets of step {self.Name()} are named {net.Name()}")

    def AddSubstep(self, substep: ExecutionStep | caffe2_pb2.ExecutionStep) -> ExecutionStep:
        """Adds a step to run; returns this step. Raises ValueError if this step has nets."""
        self._check_unused()
        if self.HasNets():
            raise ValueError("a step has nets or substeps, not both")
        if isinstance(substep, ExecutionStep):
            substep._notify_is_used()
            if not substep.HasNets() and not substep.HasSubsteps():
                return self
            for net in substep.Nets():
                self._add_net_definition(net)
            self._substeps.append(substep)
            self._step.substep.append(substep.Proto())
        else:
            self._step.substep.append(substep)
        return self

    def SetConcurrentSubsteps(self, concurrent_substeps: bool) -> None:
        """Lets the substeps run at the same time, not in their order."""
        self._check_unused()
        self._step.concurrent_substeps = concurrent_substeps

    def SetNumConcurrentInstances(self, num_concurrent_instances: int) -> None:
        """Runs this number of copies of the step at the same time."""
        self._check_unused()
        self._step.num_concurrent_instances = num_concurrent_instances

    def SetOnlyOnce(self, only_once: bool) -> None:
        """Runs the step once, even inside a step that repeats."""
        self._check_unused()
        self._step.only_once = only_once

    def SetShouldStopBlob(self, should_stop_blob: BlobReference) -> None:
        """Names the bool blob that ends the step when it is true."""
        self._check_unused()
        if not isinstance(should_stop_blob, BlobReference):
            raise TypeError(f"expects a BlobReference, got {should_stop_blob!r}")
        self._step.should_stop_blob = str(should_stop_blob)

    def SetReportNet(self, report_net: Net, report_interval: int) -> None:
        """Runs a net every `report_interval` seconds while the step runs."""
        self._check_unused()
        self._add_net_definition(report_net)
        self._step.report_net = report_net.Name()
        self._step.report_interval = report_interval

    def SetIter(self, num_iter: int) -> None:
        """Repeats the step `num_iter` times."""
        self._check_unused()
        self._step.num_iter = num_iter

    def SetCriteriaNet(self, criteria_net: Net) -> None:
        """Repeats the step while the first external output of the net, a bool, is true."""
        self._check_unused()
        self._add_net_definition(criteria_net)
        self._step.criteria_network = criteria_net.Name()

    def SetCreateWorkspace(self, create_workspace: bool) -> None:
        """Runs the step in a workspace of its own, which sees the blobs of the outer one."""
        self._check_unused()
        self._step.create_workspace = create_workspace

    def RunEveryMillis(self, interval: int) -> None:
        """Runs the step every `interval` milliseconds while its concurrent siblings run."""
        self._step.run_every_ms = interval

    def get_all_attributes(self, name: str) -> list[Any]:
        """The attributes of this name of all nets of the step."""
        return [obj for net in self._net_dict.values() for obj in net.get_attributes(name)]


class Plan:
    """Nets and the steps that run them."""

    def __init__(self, name_or_step: str | ExecutionStep) -> None:
        self._plan = caffe2_pb2.PlanDef()
        self._net_dict: dict[str, Net] = {}
        self._steps: list[ExecutionStep] = []
        if isinstance(name_or_step, ExecutionStep):
            self._plan.name = name_or_step.Name()
            self.AddStep(name_or_step)
        elif isinstance(name_or_step, str):
            self._plan.name = name_or_step
        else:
            raise TypeError(f"a Plan is made from a name or a step, not {name_or_step!r}")

    @classmethod
    def create_from_proto(cls, plan_proto: caffe2_pb2.PlanDef) -> Plan:
        """A Plan from a PlanDef, with copies of its nets under new names."""
        plan = cls(plan_proto.name)
        plan._plan.CopyFrom(plan_proto)
        plan._plan.ClearField("network")
        plan._plan.ClearField("execution_step")
        nets: dict[str, Net] = {}
        definitions = {net.name: net for net in plan_proto.network}
        for step in plan_proto.execution_step:
            plan.AddStep(ExecutionStep.create_from_proto(step, nets, definitions))
        return plan

    def Proto(self) -> caffe2_pb2.PlanDef:
        """The PlanDef."""
        return self._plan

    def Name(self) -> str:
        """The name, unique in this process."""
        return self._plan.name

    def __str__(self) -> str:
        return self._plan.name

    def Nets(self) -> list[Net]:
        """The nets of all steps."""
        return list(self._net_dict.values())

    def Steps(self) -> list[ExecutionStep]:
        """The steps, in the order in which they run."""
        return self._steps

    def AddNets(self, nets: Iterable[Net]) -> None:
        """Adds definitions of nets. Raises ValueError for two of one name."""
        for net in nets:
            known = self._net_dict.get(net.Name())
            if known is net:
                continue
            if known is not None:
                raise ValueError(f"two nets of plan {self.Name()} are named {net.Name()}")
            self._net_dict[net.Name()] = net
            self._plan.network.append(net.Proto())

    def AddStep(self, step: ExecutionStep) -> None:
        """Adds a step, and the definitions of its nets."""
        if not isinstance(step, ExecutionStep):
            raise TypeError(f"a plan runs steps, not {step!r}")
        step._notify_is_used()
        if not step.HasNets() and not step.HasSubsteps():
            return
        self._plan.execution_step.append(step.Proto())
        self._steps.append(step)
        self.AddNets(step.Nets())

    def get_all_attributes(self, name: str) -> list[Any]:
        """The objects that the nets of all steps hold under a name; see Net.add_attribute."""
        return [obj for net in self._net_dict.values() for obj in net.get_attributes(name)]


def to_execution_step(step_or_nets: StepLike, default_name: str | None = None) -> ExecutionStep:
    """A step from a step, a net, a NetBuilder, a TaskGroup, a list of them, or None (an empty
    step). Raises TypeError for anything else."""
    if isinstance(step_or_nets, ExecutionStep):
        return step_or_nets
    if isinstance(step_or_nets, StepBuilder):
        return step_or_nets.to_step(default_name)
    if isinstance(step_or_nets, Net):
        return ExecutionStep(default_name, step_or_nets)
    if not isinstance(step_or_nets, (list, tuple, type(None))):
        raise TypeError(f"steps are made of nets, steps and builders, not of {step_or_nets!r}")
    items = _as_list(step_or_nets)
    if items and all(isinstance(item, Net) for item in items):
        return ExecutionStep(default_name, items)
    step = ExecutionStep(default_name)
    for item in items:
        step.AddSubstep(to_execution_step(item))
    return step


def execution_step(default_name: str | None, steps_or_nets: StepLike, num_iter: int | None = None,
                   report_net: Net | None = None, report_interval: int | None = None,
                   concurrent_substeps: bool | None = None,
                   should_stop_blob: BlobReference | None = None, only_once: bool | None = None,
                   num_concurrent_instances: int | None = None, create_workspace: bool = False,
                   run_every_ms: int | None = None) -> ExecutionStep:
    """A step that runs nets or steps. See the setters of ExecutionStep for the options.

    Raises ValueError if both num_iter and should_stop_blob are given.
    """
    if should_stop_blob is not None and num_iter is not None:
        raise ValueError("Cannot set both should_stop_blob and num_iter")
    if should_stop_blob is None and num_iter is None:
        num_iter = 1
    step = to_execution_step(steps_or_nets, default_name)
    if isinstance(steps_or_nets, ExecutionStep):
        step = ExecutionStep(default_name)
        step.AddSubstep(steps_or_nets)
    if should_stop_blob is not None:
        step.SetShouldStopBlob(should_stop_blob)
    if num_iter is not None:
        step.SetIter(num_iter)
    if concurrent_substeps is not None:
        step.SetConcurrentSubsteps(concurrent_substeps)
    if report_net is not None:
        if report_interval is None:
            raise ValueError("a report net needs a report_interval in seconds")
        step.SetReportNet(report_net, report_interval)
    if num_concurrent_instances is not None:
        step.SetNumConcurrentInstances(num_concurrent_instances)
    if only_once is not None:
        step.SetOnlyOnce(only_once)
    if create_workspace:
        step.SetCreateWorkspace(True)
    if run_every_ms:
        step.RunEveryMillis(run_every_ms)
    return step


def scoped_execution_step(name: str, *args: Any, **kwargs: Any) -> ExecutionStep:
    """execution_step with a name that is unique in this process."""
    return execution_step(ExecutionStep._names.take(name), *args, **kwargs)


def add_nets_in_order(step: ExecutionStep | Net, net_list: list[Net]) -> list[Net]:
    """Appends the nets of a step and its substeps to the list, each once, in order of first use."""
    if isinstance(step, ExecutionStep):
        for substep in step.Substeps():
            add_nets_in_order(substep, net_list)
        nets = step.Nets()
    else:
        nets = _as_list(step)
    for net in nets:
        if net not in net_list:
            net_list.append(net)
    return net_list
