"""Finds blobs that are used before they are made, or made twice; public through net_printer."""

from __future__ import annotations

from collections.abc import Container

from caffe2.proto import caffe2_pb2
from caffe2.python.task import Task, WorkspaceType

# Blobs that the setup of a distributed run makes.
_MADE_OUTSIDE = "distributed_ctx_init_"


def need_blob(blob: str, known: Container[str], place: str) -> None:
    """Raises AssertionError, whose cause names the place, unless a blob is known."""
    if blob not in known and not blob.startswith(_MADE_OUTSIDE):
        raise AssertionError(f"Blob undefined: {blob}") from ValueError(f"{place} is not defined")


def analyze_net(net: caffe2_pb2.NetDef, known: set[str], externals_exist: bool = False) -> None:
    """Checks a NetDef against the set of known blobs, and adds the blobs that it makes."""
    if externals_exist:
        known.update(net.external_input)
    for i, op in enumerate(net.op):
        for blob in (*op.input, *op.control_input):
            need_blob(blob, known, f"net {net.name}, operator {i} ({op.type}): input {blob}")
        known.update(op.output)


def analyze_plan(plan: caffe2_pb2.PlanDef, known: set[str]) -> None:
    """Checks the steps of a PlanDef in their order; adds the blobs they make to `known`."""
    nets = {net.name: net for net in plan.network}
    for step in plan.execution_step:
        _analyze_step(step, nets, known)


def _analyze_step(step, nets, known):
    if step.create_workspace:
        known = set(known)
    for name in step.network:
        analyze_net(nets[name], known)
    if step.concurrent_substeps:
        _analyze_concurrent(step, nets, known)
    else:
        for substep in step.substep:
            _analyze_step(substep, nets, known)
    for name in (step.report_net, step.criteria_network):
        if name:
            analyze_net(nets[name], known)
    if step.should_stop_blob and step.should_stop_blob not in known:
        raise AssertionError(f"Blob undefined: {step.should_stop_blob}, which stops {step.name}")


def _analyze_concurrent(step, nets, known):
    """Concurrent steps can read the blobs that were there before; only one of them may make a
    blob."""
    made = set()
    for substep in step.substep:
        inside = set(known)
        _analyze_step(substep, nets, inside)
        if not substep.create_workspace:
            twice = sorted((inside - known) & made)
            if twice:
                raise AssertionError(
                    f"Blobs defined by several steps of {step.name} that run at once: {twice}")
            made |= inside - known
    known |= made


def analyze_task(task: Task, plan: caffe2_pb2.PlanDef, known: set[str]) -> None:
    """Checks a Task, whose steps are in a PlanDef. Adds the blobs that it makes to `known`; if its
    workspace is private, only its outputs."""
    private = task.workspace_type() == WorkspaceType.PRIVATE
    analyze_plan(plan, set(known) if private else known)
    known.update(str(name) for name in task.output_list().names())


def analyze_message(message: caffe2_pb2.NetDef | caffe2_pb2.PlanDef) -> None:
    """Checks a NetDef, or the steps of a PlanDef after the external inputs of its nets."""
    if isinstance(message, caffe2_pb2.NetDef):
        analyze_net(message, set(), externals_exist=True)
        return
    made = {blob for net in message.network for op in net.op for blob in op.output}
    outside = {blob for net in message.network for blob in net.external_input} - made
    analyze_plan(message, outside)
