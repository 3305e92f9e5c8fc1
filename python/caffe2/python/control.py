"""Control flow over nets, as execution steps: Do, If, While and similar functions.

A condition is a bool blob, or a net that runs before each test and whose last external output is
the bool blob. A string names a blob in the current name scope; in Until and DoUntil, as in Caffe2,
it is the full name. A body is a net, a step, or a list of them. Do, If, While and similar functions
return an ExecutionStep.
"""

from __future__ import annotations

import functools
from typing import Any, Union

from caffe2.python import core
from caffe2.python._core.net import Net
from caffe2.python._core.plan import ExecutionStep, StepLike

# A net, a blob, or the name of a blob.
Condition = Union[Net, core.BlobReference, str]

_used_names: dict[str, int] = {}


def _next_name(kind, name):
    base = name or f"control_{kind}"
    _used_names[base] = _used_names.get(base, 0) + 1
    return base if _used_names[base] == 1 else f"{base}_{_used_names[base]}"


def _blob_of(condition):
    """(net that computes the condition or None, its blob)."""
    if isinstance(condition, core.Net):
        return condition, GetConditionBlobFromNet(condition)
    if isinstance(condition, core.BlobReference):
        return None, condition
    if isinstance(condition, str):
        return None, core.ScopedBlobReference(condition)
    raise TypeError(f"a condition is a net or a blob, not {condition!r}")


def GetConditionBlobFromNet(condition_net: Net) -> core.BlobReference:
    """The last external output of a net, its condition."""
    outputs = condition_net.Proto().external_output
    if not outputs:
        raise ValueError(f"net {condition_net.Name()} has no external output, so that it has no "
                         "condition")
    return core.BlobReference(outputs[-1], condition_net)


def BoolNet(*blobs_with_bool_value: Any) -> Net:
    """A net that sets blobs to constants: (blob, bool) pairs, or a list of pairs."""
    net = core.Net(_next_name("bool_net", None))
    for blob, value in _listed(blobs_with_bool_value):
        net.ConstantFill([], [blob], shape=[], value=value, dtype=core.DataType.BOOL)
        net.AddExternalOutput(blob)
    return net


def _test_net(operator, condition):
    """(net of one operator on the blob of a condition, its output)."""
    net = core.Net(_next_name(f"{operator.lower()}_net", None))
    output = getattr(net, operator)([_blob_of(condition)[1]])
    net.AddExternalOutput(output)
    return net, output


def NotNet(condition_blob_or_net: Condition) -> tuple[Net, core.BlobReference]:
    """(net that negates a condition, its output). The net does not run the net of the condition:
    that net must run before."""
    return _test_net("Not", condition_blob_or_net)


def MergeConditionNets(name: str, condition_nets: Any, relation: str) -> Net | None:
    """A net that runs the nets of a list and combines their conditions by "And", "Or" or "Xor".
    A net alone, also in a list, is returned as it is; an empty list gives None."""
    if not isinstance(condition_nets, list):
        return condition_nets
    if len(condition_nets) < 2:
        return condition_nets[0] if condition_nets else None
    merged = core.Net(name)
    for net in condition_nets:
        merged.AppendNet(net)
        for key in net._attr_dict:
            for attribute in net.get_attributes(key):
                merged.add_attribute(key, attribute)
    merged.Proto().ClearField("external_output")
    return _relate(merged, condition_nets, relation)


def CombineConditions(name: str, condition_nets: Any, relation: str) -> Net | None:
    """A net that combines the conditions of a list of nets by "And", "Or" or "Xor", without running
    the nets. None for an empty list."""
    if not condition_nets:
        return None
    if not isinstance(condition_nets, list):
        raise ValueError(f"condition_nets is a list of nets, not {condition_nets!r}")
    if len(condition_nets) == 1:
        return _test_net("Copy", condition_nets[0])[0]
    return _relate(core.Net(name), condition_nets, relation)


def _relate(net, condition_nets, relation):
    blobs = map(GetConditionBlobFromNet, condition_nets)
    net.AddExternalOutput(functools.reduce(
        lambda first, second: getattr(net, relation)([first, second]), blobs))
    return net


def Do(name: str | None, *nets_or_steps: StepLike) -> ExecutionStep:
    """Runs nets and steps, or a list of them, one after the other."""
    return core.execution_step(_next_name("Do", name), _steps(nets_or_steps))


def DoParallel(name: str | None, *nets_or_steps: StepLike) -> ExecutionStep:
    """Runs nets and steps, or a list of them, at the same time."""
    return core.execution_step(
        _next_name("DoParallel", name), _steps(nets_or_steps), concurrent_substeps=True)


def _listed(items):
    """The arguments of a function, or the list that is its only argument."""
    if not items or items[0] == []:
        raise ValueError("there is nothing to run or set")
    return items[0] if len(items) == 1 and isinstance(items[0], list) else items


def _steps(nets_or_steps):
    return [core.to_execution_step(item) for item in _listed(nets_or_steps)]


def _condition_step(operator, condition):
    """(step that runs the net of a condition, then _test_net; the output)."""
    net = _blob_of(condition)[0]
    test_net, output = _test_net(operator, condition)
    # A step looks whether to stop after each of its substeps. Condition and test share one substep,
    # so that it does not look at the output of an earlier run between them.
    nets = [test_net] if net is None else [net, test_net]
    return core.execution_step(_next_name("condition", None), nets), output


def _run_once_if(name, condition, nets_or_steps, invert):
    """Runs the body once, unless the condition stops the step before it."""
    first, stop = _condition_step("Copy" if invert else "Not", condition)
    return core.execution_step(
        name, [first, *_body(nets_or_steps)], should_stop_blob=stop, only_once=True)


def _body(nets_or_steps):
    return _steps(nets_or_steps if isinstance(nets_or_steps, (list, tuple)) else [nets_or_steps])


def If(name: str | None, condition_blob_or_net: Condition, true_nets_or_steps: StepLike,
       false_nets_or_steps: StepLike = None) -> ExecutionStep:
    """Runs one body if the condition is true, else the other, if there is one."""
    return _choose("If", name, condition_blob_or_net, true_nets_or_steps, false_nets_or_steps)


def IfNot(name: str | None, condition_blob_or_net: Condition, true_nets_or_steps: StepLike,
          false_nets_or_steps: StepLike = None) -> ExecutionStep:
    """If, with the condition inverted."""
    return _choose("IfNot", name, condition_blob_or_net, true_nets_or_steps, false_nets_or_steps)


def _choose(kind, name, condition, first_body, second_body):
    name, invert = _next_name(kind, name), kind == "IfNot"
    if not second_body:
        return _run_once_if(name, condition, first_body, invert)
    # Tested once, because the first body may change the condition.
    test, copy = _condition_step("Copy", condition)
    return core.execution_step(name, [
        test, _run_once_if(name + "/first", copy, first_body, invert),
        _run_once_if(name + "/second", copy, second_body, not invert)])


def Switch(name: str | None, *conditions: Any) -> ExecutionStep:
    """For each pair (condition, body), in order: tests the condition and runs the body if it is
    true. Takes pairs or a list of pairs."""
    return core.execution_step(
        _next_name("Switch", name), [If(name, *pair) for pair in _listed(conditions)])


def SwitchNot(name: str | None, *conditions: Any) -> ExecutionStep:
    """Switch, with the conditions inverted."""
    return core.execution_step(
        _next_name("SwitchNot", name), [IfNot(name, *pair) for pair in _listed(conditions)])


def While(name: str | None, condition_blob_or_net: Condition,
          nets_or_steps: StepLike) -> ExecutionStep:
    """Repeats the body as long as the condition is true; it is tested first."""
    return _repeat("While", name, condition_blob_or_net, nets_or_steps)


def Until(name: str | None, condition_blob_or_net: Condition,
          nets_or_steps: StepLike) -> ExecutionStep:
    """Repeats the body as long as the condition is false; it is tested first."""
    return _repeat("Until", name, _unscoped(condition_blob_or_net), nets_or_steps)


def _repeat(kind, name, condition, nets_or_steps):
    first, stop = _condition_step("Not" if kind == "While" else "Copy", condition)
    return core.execution_step(
        _next_name(kind, name), [first, *_body(nets_or_steps)], should_stop_blob=stop)


def DoWhile(name: str | None, condition_blob_or_net: Condition,
            nets_or_steps: StepLike) -> ExecutionStep:
    """Runs the body, and repeats it while the condition is true after it."""
    return _repeat_after("DoWhile", name, condition_blob_or_net, nets_or_steps)


def DoUntil(name: str | None, condition_blob_or_net: Condition,
            nets_or_steps: StepLike) -> ExecutionStep:
    """Runs the body, and repeats it while the condition is false after it."""
    return _repeat_after("DoUntil", name, _unscoped(condition_blob_or_net), nets_or_steps)


def _unscoped(condition):
    return core.BlobReference(condition) if isinstance(condition, str) else condition


def _repeat_after(kind, name, condition, nets_or_steps):
    name = _next_name(kind, name)
    after, stop = _condition_step("Not" if kind == "DoWhile" else "Copy", condition)
    # The blob may be true from an earlier run, which would stop the body after its first part.
    clear = BoolNet((stop, False))
    return core.execution_step(name, [
        core.to_execution_step(clear),
        core.execution_step(name + "/loop", [*_body(nets_or_steps), after],
                            should_stop_blob=stop)])


def For(name: str | None, nets_or_steps: StepLike, iter_num: int) -> ExecutionStep:
    """Runs the body `iter_num` times."""
    init_net = core.Net(_next_name("for_init", None))
    counter = init_net.CreateCounter([], init_count=iter_num)
    check_net = core.Net(_next_name("for_check", None))
    done = check_net.CountDown([counter])
    check_net.AddExternalOutput(done)
    return Do(name, init_net, Until(f"{name}-loop", check_net, nets_or_steps))
