"""Tasks: steps of plans with what they need set up, the node they run on, and their outputs.

A TaskGroup holds tasks that start together; session.LocalSession runs it. See checkpoint.Job for
the groups of a whole training.
"""

import collections

from caffe2.python import context, core
from caffe2.python._core.builders import StepBuilder
from caffe2.python._core.net_builder import NetBuilder
from caffe2.python.schema import Field, from_blob_list


def _merge_node_kwargs(a, b):
    return {**(a or {}), **(b or {})}


@context.define_context(allow_default=True)
class Cluster:
    """The nodes that were named within the block."""

    def __init__(self):
        self._nodes = []
        self._node_kwargs = {}

    def add_node(self, node):
        """Notes a Node."""
        if str(node) not in self._nodes:
            self._nodes.append(str(node))
        self._node_kwargs[str(node)] = _merge_node_kwargs(
            node._kwargs, self._node_kwargs.get(str(node)))

    def nodes(self):
        """The names of the nodes, in the order of their first use."""
        return self._nodes

    def node_kwargs(self):
        """{node: what Node was given beside its name}."""
        return self._node_kwargs

    def __repr__(self):
        return f"Cluster(nodes={self.nodes()}, node_kwargs={self.node_kwargs()})"


@context.define_context(allow_default=True)
class Node:
    """A machine that tasks run on; operators made in the block carry its name."""

    def __init__(self, node="local", **kwargs):
        self._name = str(node)
        self._kwargs = kwargs
        Cluster.current().add_node(self)

    def __str__(self):
        return self._name

    def __repr__(self):
        return f"Node(name={self._name}, kwargs={self._kwargs})"

    def kwargs(self):
        """What the node was given beside its name: a dict."""
        return self._kwargs


class WorkspaceType:
    """Where a group runs: in a workspace of its own, or in that of the session."""

    PRIVATE = "private"
    GLOBAL = "global"


def get_setup_nets(key, steps_or_nets, target):
    """(init nets, exit nets) of what was noted under the attribute `key` in steps or nets: objects
    with setup(init_net) and exit(exit_net), each of which is asked once."""
    init_net, exit_net = core.Net(key + "/init"), core.Net(key + "/exit")
    init_nets, exit_nets = [], []
    objects = []
    for step_or_net in steps_or_nets:
        has_all = hasattr(step_or_net, "get_all_attributes")
        find = step_or_net.get_all_attributes if has_all else step_or_net.get_attributes
        objects += [found for found in find(key) if found not in objects]
    for found in objects:
        # What is set up may change what is set up for it in turn, such as num_readers.
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


def add_setup_steps(step, init_nets, exit_nets, name):
    """The step between its init and exit nets; itself if there are none."""
    if not init_nets and not exit_nets:
        return step
    steps = [step]
    if init_nets:
        steps.insert(0, core.execution_step(f"{name}:init", init_nets))
    if exit_nets:
        steps.append(core.execution_step(f"{name}:exit", exit_nets))
    return core.execution_step(name, steps)


@context.define_context(allow_default=False)
class TaskGroup(StepBuilder):
    """Tasks that run at the same time, on one or several nodes.

    Within ``with TaskGroup() as group:`` each new Task becomes part of it. The group may be used
    once.
    """

    LOCAL_SETUP = "local_setup"

    def __init__(self, workspace_type=None):
        self._tasks = []
        self._already_used = False
        self._tasks_to_add = []
        self._report_nets = {}
        self._report_steps = []
        self._remote_nets = []
        self._workspace_type = workspace_type

    def add_remote_net(self, net):
        """Notes a net that hosts of the tasks run when others ask for it, by its name."""
        self._remote_nets.append(net)

    def remote_nets(self):
        """The nets of add_remote_net: a list."""
        return self._remote_nets

    def add(self, task):
        """Adds a task. Raises ValueError if the group was used, AssertionError if the workspaces
        differ."""
        if self._already_used:
            raise ValueError("Cannot add Task to an already used TaskGroup.")
        types = {self._workspace_type, task._workspace_type} - {None}
        if len(types) > 1:
            raise AssertionError(
                f"the workspace of a task, {task._workspace_type}, is not that of its group, "
                f"{self._workspace_type}")
        if task._workspace_type is None:
            task._workspace_type = self._workspace_type or WorkspaceType.PRIVATE
        if self._workspace_type is None:
            self._workspace_type = task._workspace_type
        task._notify_used()
        self._tasks.append(task)

    def tasks(self):
        """The tasks; the group takes no more after that."""
        for task in self._tasks_to_add:
            self.add(task)
        self._tasks_to_add = []
        self._already_used = True
        return self._tasks

    def num_registered_tasks(self):
        """The number of tasks so far."""
        return len(self._tasks_to_add) + len(self._tasks)

    def used_nodes(self):
        """The nodes of the tasks, in order of first use."""
        nodes = []
        for task in (*self._tasks, *self._tasks_to_add):
            if task.node not in nodes:
                nodes.append(task.node)
        return nodes

    def report_step(self, step=None, node=None, interval_ms=1000):
        """A step that runs every `interval_ms` milliseconds while the tasks of a node run."""
        step = core.to_execution_step(step, "report_step")
        step.RunEveryMillis(interval_ms)
        self._report_steps.append((str(node or Node.current(node)), step))

    def report_net(self, net=None, node=None, report_interval=5):
        """A net, made if none is given, that runs every `report_interval` seconds meanwhile."""
        node = str(node or Node.current(node))
        if net is not None and node in self._report_nets:
            raise ValueError(f"node {node} has a report net already")
        if node not in self._report_nets:
            self._report_nets[node] = (net or core.Net(f"{node}/reporter"), report_interval)
        return self._report_nets[node][0]

    def tasks_by_node(self, node_remap=None):
        """A group with one task for each node: the concurrent tasks of this one."""
        by_node = collections.OrderedDict()
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

    def to_task(self, node=None):
        """One task with all of the group, as if its nodes were one."""
        node = str(node or Node.current(node))
        tasks = self.tasks_by_node({other: node for other in self.used_nodes()}).tasks()
        if not tasks:
            return Task(node=node, group=_NO_GROUP)
        return tasks[0]

    def to_step(self, default_name=None):
        """The step of to_task, on a cluster of its own; its name is the task's."""
        with Cluster():
            return self.to_task("local").get_step()

    def workspace_type(self):
        """A WorkspaceType, or None while no task is in the group."""
        return self._workspace_type

    def __repr__(self):
        return f"TaskGroup(tasks={self._tasks + self._tasks_to_add}, " \
               f"workspace_type={self.workspace_type()}, remote_nets={self._remote_nets})"


_NO_GROUP = object()


class TaskOutput:
    """A blob, several, or a schema record of them, to be read after the task ran.

    get() gives the blobs as the session knows them, fetch() their values, each in the form of what
    the output was made from.
    """

    def __init__(self, names):
        self._schema = names if isinstance(names, Field) else None
        if self._schema is not None:
            names = self._schema.field_blobs()
        self._is_scalar = not isinstance(names, (list, tuple))
        self.names = [names] if self._is_scalar else list(names)
        self._values = None
        self._fetch_func = None

    def set(self, values, _fetch_func=None):
        """Sets the blobs as the session knows them, and what fetches their values."""
        if len(values) != len(self.names):
            raise ValueError(f"{len(values)} values for {len(self.names)} outputs")
        self._values = values
        self._fetch_func = _fetch_func

    def _formed(self, values):
        if self._is_scalar:
            return values[0]
        return values if self._schema is None else from_blob_list(self._schema, values)

    def get(self):
        """Raises ValueError before a session ran the task."""
        if self._values is None:
            raise ValueError("Output value not set yet.")
        return self._formed(self._values)

    def fetch(self):
        """Raises ValueError before a session ran the task."""
        if self._fetch_func is None:
            raise ValueError("Cannot fetch value for this output.")
        return self._formed([self._fetch_func(value) for value in self._values])

    def __repr__(self):
        return f"TaskOutput(names={self.names}, values={self._values})"


class TaskOutputList:
    """All outputs of a task, as one list of blobs."""

    def __init__(self, outputs=None):
        self.outputs = outputs or []

    def names(self):
        """The blobs, each once."""
        return list(dict.fromkeys(name for output in self.outputs for name in output.names))

    def set_values(self, values, _fetch_func=None):
        """TaskOutput.set of all, from values in the order of names()."""
        by_name = dict(zip(map(str, self.names()), values))
        for output in self.outputs:
            output.set([by_name[str(name)] for name in output.names], _fetch_func)

    def __repr__(self):
        return f"TaskOutputList(outputs={self.outputs})"


def final_output(blob_or_record):
    """Adds an output to the current task, or to a new task that does nothing else."""
    return (Task.current(required=False) or Task()).add_output(blob_or_record)


@context.define_context(allow_default=False)
class Task:
    """A step that runs on one node, with its outputs.

    Without `step`, the task is a ``with`` block, in which net_builder.ops adds operators. Nets of
    the step may note objects under the attributes TASK_SETUP and TASK_INSTANCE_SETUP, which are
    set up before the step runs, once, or for each of its `num_instances` concurrent instances.
    """

    TASK_SETUP = "task_setup"
    TASK_INSTANCE_SETUP = "task_instance_setup"
    REPORT_STEP = "report_step"
    _global_names_used: set[str] = set()

    @classmethod
    def _get_next_name(cls, node, group, name):
        base, index = f"{node}/{name or 'task'}", 1
        unique = base
        while unique in cls._global_names_used:
            unique = f"{base}:{index}"
            index += 1
        cls._global_names_used.add(unique)
        return unique

    def __init__(self, step=None, outputs=None, workspace_type=None, group=None, node=None,
                 name=None, num_instances=None):
        if not name and isinstance(step, core.ExecutionStep):
            name = step.Proto().name
        if node is None:
            node = Node.current()
            Cluster.current().add_node(node)  # the default node may be older than the cluster
        self.node = str(node)
        self.group = None if group is _NO_GROUP else TaskGroup.current(group, required=False)
        self.name = Task._get_next_name(self.node, self.group, name)
        if self.group is not None:
            self.group._tasks_to_add.append(self)
        self._already_used = False
        self._step = None
        self._step_with_setup = None
        self._outputs = []
        self._net_builder = None
        self._num_instances = num_instances
        self._workspace_type = workspace_type
        if step is not None:
            self.set_step(step)
        if outputs is not None:
            self.add_outputs(outputs)

    def __enter__(self):
        self._assert_not_used()
        if self._step is not None:
            raise ValueError("This Task already has an execution step.")
        self._net_builder = NetBuilder(_fullname=self.name)
        self._net_builder.__enter__()

    def __exit__(self, error_type, value, traceback):
        self._net_builder.__exit__(error_type, value, traceback)
        if error_type is None:
            self.set_step(self._net_builder)
        self._net_builder = None

    def workspace_type(self):
        """A WorkspaceType, or None before the task is in a group."""
        return self._workspace_type

    def _assert_not_used(self):
        if self._already_used:
            raise ValueError("Cannot modify task since it is already been used.")

    def _notify_used(self):
        self.get_step()
        self._already_used = True

    def add_output(self, output):
        """Lets a blob or record be read after the task ran; returns its TaskOutput."""
        self._assert_not_used()
        if not isinstance(output, TaskOutput):
            output = TaskOutput(output)
        self._outputs.append(output)
        return output

    def add_outputs(self, outputs):
        """add_output of one, or of each of a list."""
        self._assert_not_used()
        if not isinstance(outputs, (list, tuple)):
            return self.add_output(outputs)
        return [self.add_output(output) for output in outputs]

    def set_step(self, step):
        """Sets what the task runs: a net, step or NetBuilder."""
        self._assert_not_used()
        self._step = core.to_execution_step(step)

    def get_step(self):
        """The step, with what is set up around it."""
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

    def output_list(self):
        """The outputs as a TaskOutputList."""
        return TaskOutputList(self._outputs)

    def outputs(self):
        """The TaskOutputs: a list."""
        return self._outputs

    def __repr__(self):
        return f"Task(name={self.name}, node={self.node}, outputs={self.outputs()})"


class SetupNets:
    """Nets to be noted under TASK_SETUP and its like: they run before, or after, a step."""

    def __init__(self, init_nets=None, exit_nets=None):
        self.init_nets = init_nets
        self.exit_nets = exit_nets

    def setup(self, init_net):
        """The nets to run before the task."""
        return self.init_nets

    def exit(self, exit_net):
        """The nets to run after the task."""
        return self.exit_nets

    def __repr__(self):
        return f"SetupNets(init_nets={self.init_nets}, exit_nets={self.exit_nets})"
