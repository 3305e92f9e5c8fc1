"""Nets, steps, plans and jobs as readable text.

``print(net_printer.to_string(net))`` shows one line for each operator::

    net "train" (simple):
      inputs: data, w, b
      y = FC(data, w, b)
      y_relu = Relu(y, order="NCHW")  # CUDA:1, engine CUDNN
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from os.path import commonprefix
from typing import Union

from caffe2.proto import caffe2_pb2
from caffe2.python import _net_analyzer, core
from caffe2.python._net_visitors import Text, Visitor
from caffe2.python.checkpoint import Job
from caffe2.python.model_helper import ModelHelper
from caffe2.python.task import Task, TaskGroup

# What to_string shows.
Printable = Union[core.Net, core.ExecutionStep, core.Plan, ModelHelper, Task, TaskGroup, Job,
                  caffe2_pb2.NetDef, caffe2_pb2.PlanDef, caffe2_pb2.ExecutionStep]

# Lists with more values are cut.
_MOST_VALUES = 8
_INDENT = "  "


def format_value(argument: caffe2_pb2.Argument) -> str:
    """The value of an Argument as Python would write it, cut if it is long."""
    for field in ("f", "i", "s"):
        if argument.HasField(field):
            return _literal(getattr(argument, field))
    if argument.HasField("n"):
        return f"<net {argument.n.name}>"
    values = [_literal(value)
              for field in ("floats", "ints", "strings") for value in getattr(argument, field)]
    values += [f"<net {net.name}>" for net in argument.nets]
    shown = values[:_MOST_VALUES]
    if len(values) > _MOST_VALUES:
        shown.append(f"... {len(values)} values")
    return f"[{', '.join(shown)}]"


def _literal(value):
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            return f"<{len(value)} bytes>"
        if len(value) > 64:
            return f"<{len(value)} bytes>"
        return f'"{value}"'
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def format_device_option(option: caffe2_pb2.DeviceOption) -> str:
    """ "CUDA:1", with the random seed and node if they are set; "" for the CPU alone."""
    parts = []
    if option.device_type != caffe2_pb2.CPU:
        name = caffe2_pb2.DeviceType.Name(option.device_type)
        parts.append(f"{name}:{option.device_id}")
    if option.random_seed:
        parts.append(f"seed {option.random_seed}")
    if option.node_name:
        parts.append(f"node {option.node_name}")
    return ", ".join(parts)


def factor_prefix(vals: Sequence[str], do_it: bool = True) -> str:
    """The names in one text; with `do_it`, a scope shared by several names appears once: a/[x,
    y]."""
    vals = [str(value) for value in vals]
    prefix = commonprefix(vals) if do_it and len(vals) > 1 else ""
    prefix = prefix[: prefix.rfind("/") + 1]
    if not prefix:
        return ", ".join(vals)
    return f"{prefix}[{', '.join(name[len(prefix):] for name in vals)}]"


def call(op: str, inputs: Iterable[str | tuple[str, object]] | None = None,
         outputs: Sequence[str] | None = None, factor_prefixes: bool = False) -> str:
    """ "y = Type(x, argument=value)"; `inputs` are names and pairs (argument, value)."""
    inputs = list(inputs or [])
    names = [item for item in inputs if not isinstance(item, tuple)]
    parts = [factor_prefix(names, factor_prefixes)] if names else []
    parts += [f"{item[0]}={item[1]}" for item in inputs if isinstance(item, tuple)]
    text = f"{op}({', '.join(parts)})"
    return f"{factor_prefix(outputs, factor_prefixes)} = {text}" if outputs else text


def _operator_lines(op, indent, factor_prefixes):
    text = call(op.type, list(op.input), list(op.output), factor_prefixes)[:-1]
    nested = []
    for argument in sorted(op.arg, key=lambda argument: argument.name):
        text += "" if text.endswith("(") else ", "
        text += f"{argument.name}={format_value(argument)}"
        nested += [argument.n] if argument.HasField("n") else list(argument.nets)
    notes = [format_device_option(op.device_option)]
    notes.append(f"engine {op.engine}" if op.engine else "")
    notes.append(f'name "{op.name}"' if op.name else "")
    notes.append(f"after {', '.join(op.control_input)}" if op.control_input else "")
    notes = ", ".join(note for note in notes if note)
    lines = [f"{indent}{text})" + (f"  # {notes}" if notes else "")]
    for net in nested:
        lines += _net_lines(net, indent + _INDENT, factor_prefixes)
    return lines


def _net_lines(net, indent="", factor_prefixes=False):
    device = format_device_option(net.device_option)
    header = f'{indent}net "{net.name}" ({net.type or "simple"})'
    lines = [header + (f" on {device}" if device else "") + ":"]
    indent += _INDENT
    for title, blobs in (("inputs", net.external_input), ("outputs", net.external_output)):
        if blobs:
            lines.append(f"{indent}{title}: {factor_prefix(blobs, factor_prefixes)}")
    for op in net.op:
        lines += _operator_lines(op, indent, factor_prefixes)
    return lines


def _step_lines(step, indent=""):
    notes = []
    for field, text in (("num_iter", "{} times"), ("should_stop_blob", "until {}"),
                        ("criteria_network", "while net {}"), ("report_net", "reports by net {}"),
                        ("run_every_ms", "every {} ms"),
                        ("num_concurrent_instances", "{} instances")):
        if step.HasField(field):
            notes.append(text.format(getattr(step, field)))
    for field, text in (("concurrent_substeps", "concurrently"), ("only_once", "only once"),
                        ("create_workspace", "in a workspace of its own")):
        if getattr(step, field):
            notes.append(text)
    lines = [f'{indent}step "{step.name}"' + (f" ({', '.join(notes)})" if notes else "") + ":"]
    lines += [f'{indent}{_INDENT}run net "{name}"' for name in step.network]
    for substep in step.substep:
        lines += _step_lines(substep, indent + _INDENT)
    return lines


def _plan_lines(plan, factor_prefixes=False):
    lines = [f'plan "{plan.name}":']
    for net in plan.network:
        lines += _net_lines(net, _INDENT, factor_prefixes)
    for step in plan.execution_step:
        lines += _step_lines(step, _INDENT)
    return lines


def _as_message(obj):
    if isinstance(obj, core.ExecutionStep):
        return core.Plan(_copy_of_step(obj)).Proto() if obj._net_dict else obj.Proto()
    return obj.Proto() if hasattr(obj, "Proto") else obj


def _copy_of_step(step):
    # Taking the step itself into a plan would end its construction.
    copy = core.ExecutionStep(step.Name())
    copy._step.CopyFrom(step.Proto())
    copy._net_dict.update(step._net_dict)
    return copy


def _plan_of_task(task):
    plan = core.Plan(task.name)
    plan.AddStep(_copy_of_step(task.get_step()))
    return plan.Proto()


def _plans_of_group(group):
    """Pairs (Task, PlanDef) of a TaskGroup, whose tasks may not change afterwards. Raises TypeError
    for a group that was compiled for a session."""
    if not isinstance(group, TaskGroup):
        raise TypeError(f"{group!r} is not a TaskGroup: print and analyze jobs before compile")
    return [(task, _plan_of_task(task)) for task in group.tasks_by_node().tasks()]


def _task_lines(task, plan, indent, factor_prefixes):
    workspace_type = f", {task.workspace_type()} workspace" if task.workspace_type() else ""
    lines = [f'{indent}task "{task.name}" on {task.node}{workspace_type}:']
    lines += [indent + _INDENT + line for line in _plan_lines(plan, factor_prefixes)]
    outputs = ", ".join(str(name) for name in task.output_list().names())
    return lines + ([f"{indent}{_INDENT}outputs: {outputs}"] if outputs else [])


def _group_lines(group, indent="", factor_prefixes=False):
    return [line for task, plan in _plans_of_group(group)
            for line in _task_lines(task, plan, indent, factor_prefixes)]


def _job_lines(job, factor_prefixes):
    lines = []
    for name in ("init_group", "epoch_group", "download_group", "exit_group"):
        lines.append(f"{name}:")
        lines += _group_lines(getattr(job, name), _INDENT, factor_prefixes)
    conditions = [str(name) for output in job.stop_conditions for name in output.names]
    return lines + [f"stop when: {', '.join(conditions)}" if conditions else "runs one epoch"]


class Printer(Visitor, Text):
    """Collects the text of the objects that it is called with; str() returns it. `c2_syntax`, an
    argument of Caffe2's Printer, has no effect."""

    def __init__(self, factor_prefixes: bool = False, c2_syntax: bool = True) -> None:
        super().__init__()
        self.factor_prefixes = factor_prefixes

    def add_lines(self, lines: Iterable[str]) -> None:
        """Adds several lines."""
        for line in lines:
            self.add(line)


@Printer.register(caffe2_pb2.OperatorDef)
def print_op(text: Printer, op: caffe2_pb2.OperatorDef) -> None:
    """Adds an OperatorDef and the nets in its arguments to a Printer."""
    text.add_lines(_operator_lines(op, "", text.factor_prefixes))


@Printer.register(caffe2_pb2.NetDef)
def print_net_def(text: Printer, net_def: caffe2_pb2.NetDef) -> None:
    """Adds a NetDef to a Printer."""
    text.add_lines(_net_lines(net_def, factor_prefixes=text.factor_prefixes))


@Printer.register(core.Net)
def print_net(text: Printer, net: core.Net) -> None:
    """Adds a Net to a Printer."""
    text(net.Proto())


@Printer.register(caffe2_pb2.PlanDef)
def _print_plan(text, plan):
    text.add_lines(_plan_lines(plan, text.factor_prefixes))


@Printer.register(core.Plan)
def print_plan(text: Printer, plan: core.Plan) -> None:
    """Adds a Plan to a Printer."""
    text(plan.Proto())


@Printer.register(caffe2_pb2.ExecutionStep)
def _print_step_def(text, step):
    text.add_lines(_step_lines(step))


@Printer.register(core.ExecutionStep)
def print_step(text: Printer, step: core.ExecutionStep) -> None:
    """Adds an ExecutionStep with the nets it runs to a Printer."""
    text(_as_message(step))


@Printer.register(Task)
def print_task(text: Printer, task: Task) -> None:
    """Adds a Task, which may not change afterwards, to a Printer."""
    text.add_lines(_task_lines(task, _plan_of_task(task), "", text.factor_prefixes))


@Printer.register(TaskGroup)
def print_task_group(text: Printer, tg: TaskGroup, header: str | None = None) -> None:
    """Adds a TaskGroup, which may not change afterwards, to a Printer, within the context of a
    header if there is one."""
    with text.context(header):
        text.add_lines(_group_lines(tg, "", text.factor_prefixes))


@Printer.register(Job)
def print_job(text: Printer, job: Job) -> None:
    """Adds a Job, which may not change afterwards, to a Printer."""
    text.add_lines(_job_lines(job, text.factor_prefixes))


def to_string(obj: Printable, factor_prefixes: bool = False, c2_syntax: bool = True) -> str:
    """A Net, ExecutionStep, Plan, ModelHelper or message of these as text, or a Task, TaskGroup or
    Job, which may not change afterwards.

    `factor_prefixes` writes a common scope of inputs or outputs once; `c2_syntax` has no effect.
    Raises TypeError for anything else.
    """
    printer = Printer(factor_prefixes, c2_syntax)
    printer(obj if isinstance(obj, tuple(Printer.visitors)) else _as_message(obj))
    return f"{printer}\n"


def debug_net(net: core.Net) -> None:
    """Prints a net."""
    print(to_string(net), end="")


class Analyzer(Visitor):
    """Checks the objects that it is called with, in order: every blob that an operator reads must
    be in `workspace`, a set of names, to which the blobs are added that operators make. Raises
    AssertionError, which names a missing blob."""

    def __init__(self) -> None:
        self.workspace: set[str] = set()

    @contextmanager
    def set_workspace(self, ws: set[str] | None = None,
                      do_copy: bool = False) -> Iterator[set[str]]:
        """Within the block, `ws` is the workspace; default: the present one, or with `do_copy` a
        copy of it."""
        outside = self.workspace
        ws = outside if ws is None else ws
        self.workspace = set(ws) if do_copy else ws
        try:
            yield self.workspace
        finally:
            self.workspace = outside

    def define_blob(self, blob: str) -> None:
        """Notes that a blob exists."""
        self.workspace.add(blob)

    def need_blob(self, blob: str) -> None:
        """Raises AssertionError unless a blob exists or is made by the set-up of a run."""
        _net_analyzer.need_blob(blob, self.workspace, f"blob {blob}")


@Analyzer.register(caffe2_pb2.OperatorDef)
def analyze_op(analyzer: Analyzer, op: caffe2_pb2.OperatorDef) -> None:
    """Has an Analyzer check an OperatorDef."""
    _net_analyzer.analyze_net(caffe2_pb2.NetDef(op=[op]), analyzer.workspace)


@Analyzer.register(caffe2_pb2.NetDef)
def analyze_net_def(analyzer: Analyzer, net_def: caffe2_pb2.NetDef) -> None:
    """Has an Analyzer check a NetDef."""
    _net_analyzer.analyze_net(net_def, analyzer.workspace)


@Analyzer.register(core.Net)
def analyze_net(analyzer: Analyzer, net: core.Net) -> None:
    """Has an Analyzer check a Net."""
    analyzer(net.Proto())


@Analyzer.register(caffe2_pb2.PlanDef)
def _analyze_plan_def(analyzer, plan_def):
    _net_analyzer.analyze_plan(plan_def, analyzer.workspace)


@Analyzer.register(core.Plan)
def analyze_plan(analyzer: Analyzer, plan: core.Plan) -> None:
    """Has an Analyzer check the steps of a Plan."""
    analyzer(plan.Proto())


@Analyzer.register(core.ExecutionStep)
def analyze_step(analyzer: Analyzer, step: core.ExecutionStep) -> None:
    """Has an Analyzer check an ExecutionStep with its nets."""
    analyzer(core.Plan(_copy_of_step(step)))


@Analyzer.register(Task)
def analyze_task(analyzer: Analyzer, task: Task) -> None:
    """Has an Analyzer check a Task, which may not change afterwards."""
    _net_analyzer.analyze_task(task, _plan_of_task(task), analyzer.workspace)


@Analyzer.register(TaskGroup)
def analyze_task_group(analyzer: Analyzer, tg: TaskGroup) -> None:
    """Has an Analyzer check the tasks of a group, which may not change afterwards."""
    for task, plan in _plans_of_group(tg):
        _net_analyzer.analyze_task(task, plan, analyzer.workspace)


@Analyzer.register(Job)
def analyze_job(analyzer: Analyzer, job: Job) -> None:
    """Has an Analyzer check the groups of a Job in the order they run."""
    for group in (job.init_group, job.epoch_group, job.download_group, job.exit_group):
        analyze_task_group(analyzer, group)


def analyze(obj: core.Net | core.Plan | core.ExecutionStep | Job | Task | TaskGroup) -> None:
    """Checks that every blob exists when an operator reads it, and that no two concurrent steps
    make the same blob.

    Args:
      obj: a Net, whose external inputs are assumed to exist; a Plan or step, for which the blobs
        that it never makes are assumed to exist; or a Job, Task or TaskGroup, which must make all
        of its blobs.

    Raises AssertionError that names the blob; its cause names net and operator.
    """
    if isinstance(obj, (Job, Task, TaskGroup)):
        Analyzer()(obj)
        return
    message = _as_message(obj)
    if isinstance(message, caffe2_pb2.ExecutionStep):
        message = caffe2_pb2.PlanDef(execution_step=[message])
    _net_analyzer.analyze_message(message)
