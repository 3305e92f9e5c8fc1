"""Tasks: steps of plans, with the objects that must be set up before, the node they run on, and
their outputs.

A TaskGroup holds tasks that start together; session.LocalSession runs it. See checkpoint.Job for
the groups of a whole training.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from caffe2.python import context, core
from caffe2.python._core.builders import StepBuilder
from caffe2.python._core.net_builder import NetBuilder
from caffe2.python._core.plan import StepLike
from caffe2.python._core.unique_names import UniqueNames
from caffe2.python.schema import Field, from_blob_list


def _merge_node_kwargs(a, b):
    return {**(a or {}), **(b or {})}


class Cluster(context.DefaultManaged):
    """The nodes that were named within the block."""

    def __init__(self) -> None:
        self._nodes: list[str] = []
        self._node_kwargs: dict[str, dict[str, Any]] = {}

    def add_node(self, node: Node) -> None:
        """Notes a Node."""
        if str(node) not in self._nodes:
            self._nodes.append(str(node))
        self._node_kwargs[str(node)] = _merge_node_kwargs(
            node._kwargs, self._node_kwargs.get(str(node)))

    def nodes(self) -> list[str]:
        """The names of the nodes, in the order of their first use."""
        return self._nodes

    def node_kwargs(self) -> dict[str, dict[str, Any]]:
        """{node: the keyword arguments of Node}."""
        return self._node_kwargs

    def __repr__(self) -> str:
        return f"Cluster(nodes={self.nodes()}, node_kwargs={self.node_kwargs()})"


class Node(context.DefaultManaged):
    """A machine that tasks run on. Tasks made in its ``with`` block run there."""

    def __init__(self, node: Node | str = "local", **kwargs: Any) -> None:
        self._name = str(node)
        self._kwargs = kwargs
        Cluster.current().add_node(self)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"Node(name={self._name}, kwargs={self._kwargs})"

    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments of the node."""
        return self._kwargs


class WorkspaceType:
    """Where a group runs: in a workspace of its own, or in the session's."""

    PRIVATE = "private"
    GLOBAL = "global"


def get_setup_nets(key: str, steps_or_nets: Sequence[core.ExecutionStep | core.Net],
                   target: TaskGroup | Task) -> tuple[list[Any], list[Any]]:
    """(init nets, exit nets) of the objects that steps or nets keep under the attribute `key`.

    Of each object the methods setup(init_net) and exit(exit_net), if it has them, are called once.
    They add operators to the net they get, or return nets or steps, or both."""
    init_net, exit_net = core.Net(key + "/init"), core.Net(key + "/exit")
    init_nets: list[Any] = []
    exit_nets: list[Any] = []
    objects: list[Any] = []
    for step_or_net in steps_or_nets:
        attributes = (step_or_net.get_attributes(key) if isinstance(step_or_net, core.Net)
                      else step_or_net.get_all_attributes(key))
        objects += [found for found in attributes if found not in objects]
    for found in objects:
        # The setup of one object may change another, as its num_readers.
        for method, net, nets in (("setup", init_net, init_nets), ("exit", exit_net, exit_nets)):
            added = getattr(found, method)(net) if hasattr(found, method) else None
            if isinstance(added, (list, tuple)):
                nets += added
            elif isinstance(added, (core.Net, core.ExecutionStep)):
                nets.append(added)
            elif added is not None:
                raise TypeError(f"{method} of {found!r} returned {added!r}, not nets")
    if len(init_net.Proto().op) > 0:
        init_nets.insert(0, init_net)
    if len(exit_net.Proto().op) > 0:
        exit_nets.insert(0, exit_net)
    return init_nets, exit_nets


def add_setup_steps(step: core.ExecutionStep, init_nets: Sequence[Any], exit_nets: Sequence[Any],
                    name: str) -> core.ExecutionStep:
    """The step between its init and exit nets; itself if there are none."""
    if not init_nets and not exit_nets:
        return step
    steps = [step]
    if init_nets:
        steps.insert(0, core.execution_step(f"{name}:init", init_nets))
    if exit_nets:
        steps.append(core.execution_step(f"{name}:exit", exit_nets))
    return core.execution_step(name, steps)


class TaskGroup(StepBuilder, context.Managed):
    """Tasks that run at the same time, on one or several nodes.

    Within ``with TaskGroup() as group:`` each new Task becomes part of it. The group may be used
    once.
    """

    LOCAL_SETUP = "local_setup"

    def __init__(self, workspace_type: str | None = None) -> None:
        self._tasks: list[Task] = []
        self._already_used = False
        self._tasks_to_add: list[Task] = []
        self._report_nets: dict[str, tuple[core.Net, float]] = {}
        self._report_steps: list[tuple[str, core.ExecutionStep]] = []
        self._remote_nets: list[core.Net] = []
        self._workspace_type = workspace_type

    def add_remote_net(self, net: core.Net) -> None:
        """Notes a net that hosts of the tasks run when others ask for it, by its name."""
        self._remote_nets.append(net)

    def remote_nets(self) -> list[core.Net]:
        """The nets of add_remote_net: a list."""
        return self._remote_nets

    def add(self, task: Task) -> None:
        """Adds a task. Raises ValueError if the group was used, AssertionError if the workspaces
        differ."""
        if self._already_used:
            raise ValueError("Cannot add Task to an already used TaskGroup.")
        types = {self._workspace_type, task._workspace_type} - {None}
        if len(types) > 1:
            raise AssertionError(
                f"a task with workspace type {task._workspace_type} cannot be in a group of type "
                f"{self._workspace_type}")
        if task._workspace_type is None:
            task._workspace_type = self._workspace_type or WorkspaceType.PRIVATE
        if self._workspace_type is None:
            self._workspace_type = task._workspace_type
        task._notify_used()
        self._tasks.append(task)

    def tasks(self) -> list[Task]:
        """The tasks. The group takes no more tasks after this call."""
        for task in self._tasks_to_add:
            self.add(task)
        self._tasks_to_add = []
        self._already_used = True
        return self._tasks

    def num_registered_tasks(self) -> int:
        """The number of tasks so far."""
        return len(self._tasks_to_add) + len(self._tasks)

    def used_nodes(self) -> list[str]:
        """The nodes of the tasks, in order of first use."""
        nodes = []
        for task in (*self._tasks, *self._tasks_to_add):
            if task.node not in nodes:
                nodes.append(task.node)
        return nodes

    def report_step(self, step: StepLike = None, node: Node | str | None = None,
                    interval_ms: int = 1000) -> None:
        """Lets a step run every `interval_ms` milliseconds while the tasks of a node run."""
        step = core.to_execution_step(step, "report_step")
        step.RunEveryMillis(interval_ms)
        self._report_steps.append((str(node or Node.current()), step))

    def report_net(self, net: core.Net | None = None, node: Node | str | None = None,
                   report_interval: float = 5) -> core.Net:
        """Lets a net, made if none is given, run every `report_interval` seconds while the tasks of
        a node run; returns it. Raises ValueError for a second net on one node."""
        node = str(node or Node.current())
        if net is not None and node in self._report_nets:
            raise ValueError(f"node {node} has a report net already")
        if node not in self._report_nets:
            self._report_nets[node] = (net or core.Net(f"{node}/reporter"), report_interval)
        return self._report_nets[node][0]

    def tasks_by_node(self, node_remap: Mapping[str, str] | None = None) -> TaskGroup:
        """A group with one task for each node: the concurrent tasks of this one."""
        by_node: dict[str, list[Task]] = {}
        for task in self.tasks():
            node = (node_remap or {}).get(task.node, task.node)
            by_node.setdefault(node, []).append(task)
        grouped = TaskGroup(self.workspace_type())
        grouped._remote_nets = list(self._remote_nets)
        for node, tasks in by_node.items():
            reports = [step for owner, step in self._report_steps
                       if (node_remap or {}).get(owner, owner) == node]
            nets = [pair for owner, pair in self._report_nets.items()
                    if (node_remap or {}).get(owner, owner) == node]
            grouped.add(self._join(node, tasks, reports, nets))
        return grouped

    def _join(self, node, tasks, reports, nets):
        """The task of one node."""
        steps = [task.get_step() for task in tasks]
        outputs = [output for task in tasks for output in task.outputs()]
        for net, interval in nets:
            report = core.execution_step(f"{node}:report_net", net)
            report.RunEveryMillis(int(interval * 1000))
            reports = [*reports, report]
        if self.workspace_type() == WorkspaceType.PRIVATE:
            # Tasks may make blobs of the same name; they share what the setup makes, and outputs.
            for step in steps:
                step.Proto().create_workspace = True
        init_nets, exit_nets = get_setup_nets(TaskGroup.LOCAL_SETUP, [*steps, *reports], self)
        # A single task needs no step of concurrent substeps around it.
        step = steps[0]
        if len(steps) > 1 or reports:
            step = core.execution_step(f"{node}:body", [*steps, *reports], concurrent_substeps=True)
        step = add_setup_steps(step, init_nets, exit_nets, f"{node}:node_task")
        task = Task(node=node, step=step, outputs=outputs, name="grouped_by_node",
                    group=_NO_GROUP, workspace_type=self.workspace_type())
        task._step_with_setup = step  # the tasks' own setups are in it
        return task

    def to_task(self, node: Node | str | None = None) -> Task:
        """One task that holds all tasks of the group, as if its nodes were one."""
        node = str(node or Node.current())
        tasks = self.tasks_by_node({other: node for other in self.used_nodes()}).tasks()
        if not tasks:
            return Task(node=node, group=_NO_GROUP)
        return tasks[0]

    def to_step(self, default_name: str | None = None) -> core.ExecutionStep:
        """The step of to_task, on a cluster of its own. Its name is the task's, not
        `default_name`."""
        with Cluster():
            return self.to_task("local").get_step()

    def workspace_type(self) -> str | None:
        """A WorkspaceType, or None while no task is in the group."""
        return self._workspace_type

    def __repr__(self) -> str:
        return f"TaskGroup(tasks={self._tasks + self._tasks_to_add}, " \
               f"workspace_type={self.workspace_type()}, remote_nets={self._remote_nets})"


# As the argument `group` of a Task: no group, not even the current one.
_NO_GROUP: Any = object()


class TaskOutput:
    """A blob, a list of blobs, or a schema record of them, to be read after the task ran.

    get() returns the blobs as the session knows them, fetch() their values: one, a list or a
    record, as the output was made from.
    """

    def __init__(self, names: Any) -> None:
        self._schema = names if isinstance(names, Field) else None
        if self._schema is not None:
            names = self._schema.field_blobs()
        self._is_scalar = not isinstance(names, (list, tuple))
        self.names = [names] if self._is_scalar else list(names)
        self._values: Sequence[Any] | None = None
        self._fetch_func: Callable[[Any], Any] | None = None

    def set(self, values: Sequence[Any], _fetch_func: Callable[[Any], Any] | None = None) -> None:
        """Sets the blobs as the session knows them, and the function that fetches their values."""
        if len(values) != len(self.names):
            raise ValueError(f"there must be one value for each of the {len(self.names)} outputs, "
                             f"found {len(values)}")
        self._values = values
        self._fetch_func = _fetch_func

    def _formed(self, values):
        if self._is_scalar:
            return values[0]
        return values if self._schema is None else from_blob_list(self._schema, values)

    def get(self) -> Any:
        """The blobs. Raises ValueError before a session ran the task."""
        if self._values is None:
            raise ValueError("Output value not set yet.")
        return self._formed(self._values)

    def fetch(self) -> Any:
        """The values. Raises ValueError before a session ran the task."""
        if self._fetch_func is None or self._values is None:
            raise ValueError("Cannot fetch value for this output.")
        return self._formed([self._fetch_func(value) for value in self._values])

    def __repr__(self) -> str:
        return f"TaskOutput(names={self.names}, values={self._values})"


class TaskOutputList:
    """All outputs of a task, as one list of blobs."""

    def __init__(self, outputs: list[TaskOutput] | None = None) -> None:
        self.outputs = outputs or []

    def names(self) -> list[Any]:
        """The blobs, each once."""
        return list(dict.fromkeys(name for output in self.outputs for name in output.names))

    def set_values(self, values: Sequence[Any],
                   _fetch_func: Callable[[Any], Any] | None = None) -> None:
        """Calls TaskOutput.set of every output, with values in the order of names()."""
        by_name = dict(zip(map(str, self.names()), values))
        for output in self.outputs:
            output.set([by_name[str(name)] for name in output.names], _fetch_func)

    def __repr__(self) -> str:
        return f"TaskOutputList(outputs={self.outputs})"


def final_output(blob_or_record: Any) -> TaskOutput:
    """Adds an output to the current task, or to a new task that does nothing else."""
    return (Task.current(required=False) or Task()).add_output(blob_or_record)


class Task(context.Managed):
    """A step that runs on one node, with its outputs.

    Without `step`, the task is a ``with`` block, in which net_builder.ops adds operators. Nets of
    the step may note objects under the attributes TASK_SETUP and TASK_INSTANCE_SETUP, which are
    set up before the step runs, once, or for each of its `num_instances` concurrent instances.
    """

    TASK_SETUP = "task_setup"
    TASK_INSTANCE_SETUP = "task_instance_setup"
    REPORT_STEP = "report_step"
    _names = UniqueNames(":")

    def __init__(self, step: StepLike = None, outputs: Any = None,
                 workspace_type: str | None = None, group: TaskGroup | None = None,
                 node: Node | str | None = None, name: str | None = None,
                 num_instances: int | None = None) -> None:
        if not name and isinstance(step, core.ExecutionStep):
            name = step.Proto().name
        if node is None:
            node = Node.current()
            Cluster.current().add_node(node)  # the default node may be older than the cluster
        self.node = str(node)
        self.group = None if group is _NO_GROUP else TaskGroup.current(group, required=False)
        self.name = Task._names.take(f"{self.node}/{name or 'task'}")
        if self.group is not None:
            self.group._tasks_to_add.append(self)
        self._already_used = False
        self._step: core.ExecutionStep | None = None
        self._step_with_setup: core.ExecutionStep | None = None
        self._outputs: list[TaskOutput] = []
        self._net_builder: NetBuilder | None = None
        self._num_instances = num_instances
        self._workspace_type = workspace_type
        if step is not None:
            self.set_step(step)
        if outputs is not None:
            self.add_outputs(outputs)

    def __enter__(self) -> Task:
        self._assert_not_used()
        if self._step is not None:
            raise ValueError("This Task already has an execution step.")
        self._net_builder = NetBuilder(_fullname=self.name)
        self._net_builder.__enter__()
        return super().__enter__()

    def __exit__(self, error_type: type[BaseException] | None, *unused: Any) -> None:
        super().__exit__(error_type, *unused)
        assert self._net_builder is not None
        self._net_builder.__exit__(error_type, *unused)
        if error_type is None:
            self.set_step(self._net_builder)
        self._net_builder = None

    def workspace_type(self) -> str | None:
        """A WorkspaceType, or None before the task is in a group."""
        return self._workspace_type

    def _assert_not_used(self):
        if self._already_used:
            raise ValueError(f"task {self.name} cannot change: it is part of a group that was used")

    def _notify_used(self):
        self.get_step()
        self._already_used = True

    def add_output(self, output: Any) -> TaskOutput:
        """Makes a blob or record an output, which can be read after the task ran; returns its
        TaskOutput."""
        self._assert_not_used()
        if not isinstance(output, TaskOutput):
            output = TaskOutput(output)
        self._outputs.append(output)
        return output

    def add_outputs(self, outputs: Any) -> TaskOutput | list[TaskOutput]:
        """add_output of one, or of each of a list."""
        self._assert_not_used()
        if not isinstance(outputs, (list, tuple)):
            return self.add_output(outputs)
        return [self.add_output(output) for output in outputs]

    def set_step(self, step: StepLike) -> None:
        """Sets what the task runs: a net, step or NetBuilder."""
        self._assert_not_used()
        self._step = core.to_execution_step(step)

    def get_step(self) -> core.ExecutionStep:
        """The step between the init and exit steps of its setup objects."""
        if self._step_with_setup is not None:
            return self._step_with_setup
        if self._step is None:
            self._step_with_setup = core.execution_step(self.name, [])
            return self._step_with_setup
        reports = self._step.get_all_attributes(Task.REPORT_STEP)
        step = self._step
        for report in reports:
            if not report.Proto().run_every_ms:
                report.RunEveryMillis(1000)
        init_nets, exit_nets = get_setup_nets(Task.TASK_INSTANCE_SETUP, [step, *reports], self)
        step = add_setup_steps(step, init_nets, exit_nets, self.name + ":instance")
        if self._num_instances is not None and self._num_instances > 1:
            instance = core.execution_step(
                f"{self.name}:instances", step, create_workspace=True,
                num_concurrent_instances=self._num_instances)
            step = core.execution_step(f"{self.name}:parallel", [instance],
                                       concurrent_substeps=True)
        if reports:
            step = core.execution_step(f"{self.name}:reported", [step, *reports],
                                       concurrent_substeps=True)
        init_nets, exit_nets = get_setup_nets(Task.TASK_SETUP, [self._step, *reports], self)
        self._step_with_setup = add_setup_steps(step, init_nets, exit_nets, self.name)
        return self._step_with_setup

    def output_list(self) -> TaskOutputList:
        """The outputs as a TaskOutputList."""
        return TaskOutputList(self._outputs)

    def outputs(self) -> list[TaskOutput]:
        """The TaskOutputs: a list."""
        return self._outputs

    def __repr__(self) -> str:
        return f"Task(name={self.name}, node={self.node}, outputs={self.outputs()})"


class SetupNets:
    """Nets that run before and after a step, for net.add_attribute(Task.TASK_SETUP, ...)."""

    def __init__(self, init_nets: Sequence[core.Net] | None = None,
                 exit_nets: Sequence[core.Net] | None = None) -> None:
        self.init_nets = init_nets
        self.exit_nets = exit_nets

    def setup(self, init_net: core.Net) -> Sequence[core.Net] | None:
        """The nets to run before the task."""
        return self.init_nets

    def exit(self, exit_net: core.Net) -> Sequence[core.Net] | None:
        """The nets to run after the task."""
        return self.exit_nets

    def __repr__(self) -> str:
        return f"SetupNets(init_nets={self.init_nets}, exit_nets={self.exit_nets})"
