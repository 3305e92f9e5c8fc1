"""Control flow over nets, as execution steps: Do, If, While and their like.

A condition is a bool blob, the net whose last output it is (run before each test), or a pair of
net and blob. Each function returns an ExecutionStep.
"""

from caffe2.python import core

_used_names = {}


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
        return None, core.BlobReference(condition)
    raise TypeError(f"a condition is a net or a blob, not {condition!r}")


def GetConditionBlobFromNet(condition_net):
    """The last external output of a net, its condition."""
    outputs = condition_net.Proto().external_output
    if not outputs:
        raise ValueError(f"net {condition_net.Name()} has no external output, which its condition "
                         "would be")
    return core.BlobReference(outputs[-1], condition_net)


def BoolNet(*blobs_with_bool_value):
    """A net that sets blobs to constants: (blob, bool) pairs, or lists of pairs."""
    net = core.Net(_next_name("bool_net", None))
    pairs = []
    for item in blobs_with_bool_value:
        pairs += item if isinstance(item, list) else [item]
    for blob, value in pairs:
        net.ConstantFill([], [blob], shape=[], value=value, dtype=core.DataType.BOOL)
        net.AddExternalOutput(blob)
    return net


def NotNet(condition_blob_or_net):
    """A net that computes the opposite of a condition."""
    net = core.Net(_next_name("not_net", None))
    inner, blob = _blob_of(condition_blob_or_net)
    if inner is not None:
        net.AppendNet(inner)
        net.Proto().ClearField("external_output")
    net.AddExternalOutput(net.Not([blob]))
    return net


def _relate(operator, conditions):
    net = core.Net(_next_name(operator.lower() + "_net", None))
    result = None
    for condition in conditions:
        inner, blob = _blob_of(condition)
        if inner is not None:
            net.AppendNet(inner)
        result = blob if result is None else getattr(net, operator)([result, blob])
    net.Proto().ClearField("external_output")
    net.AddExternalOutput(result)
    return net


def CombineConditions(name, condition_nets, relation):
    """A net that computes the "And", "Or" or "Xor" of the conditions of nets."""
    if not condition_nets:
        raise ValueError("there are no conditions to combine")
    net = _relate(relation, condition_nets)
    net.Proto().name = core.Net._get_next_net_name(name)
    return net


def MergeConditionNets(name, condition_nets, relation):
    """CombineConditions of a list of nets, or the net that is no list."""
    if not isinstance(condition_nets, list):
        return condition_nets
    return CombineConditions(name, condition_nets, relation)


def Do(name, *nets_or_steps):
    """Runs nets and steps one after the other."""
    return core.execution_step(
        _next_name("Do", name), [core.to_execution_step(item) for item in nets_or_steps])


def DoParallel(name, *nets_or_steps):
    """Runs nets and steps at the same time."""
    return core.execution_step(
        _next_name("DoParallel", name), [core.to_execution_step(item) for item in nets_or_steps],
        concurrent_substeps=True)


def _condition_steps(condition, invert):
    """(steps that compute the blob that stops, the blob): true where the condition is not, or with
    `invert` where it is."""
    inner, blob = _blob_of(condition)
    steps = [core.to_execution_step(inner)] if inner is not None else []
    # A step looks whether to stop behind each of its substeps, so that there must be one.
    stop_net = core.Net(_next_name("stop_net", None))
    stop = stop_net.Copy([blob]) if invert else stop_net.Not([blob])
    stop_net.AddExternalOutput(stop)
    return [*steps, core.to_execution_step(stop_net)], stop


def _run_once_if(name, condition, nets_or_steps, invert):
    """Runs the body once, unless the condition stops the step before it."""
    first, stop = _condition_steps(condition, invert)
    body = [core.to_execution_step(item) for item in _as_list(nets_or_steps)]
    return core.execution_step(name, [*first, *body], should_stop_blob=stop, only_once=True)


def _as_list(item):
    return list(item) if isinstance(item, (list, tuple)) else [item]


def If(name, condition_blob_or_net, true_nets_or_steps, false_nets_or_steps=None):
    """Runs one body where the condition is true, and another, if there is one, where it is not."""
    name = _next_name("If", name)
    if false_nets_or_steps is None:
        return _run_once_if(name, condition_blob_or_net, true_nets_or_steps, False)
    inner, blob = _blob_of(condition_blob_or_net)
    # Tested once: the first body may change what the condition reads.
    copy_net = core.Net(_next_name("condition_net", None))
    if inner is not None:
        copy_net.AppendNet(inner)
    copy = copy_net.Copy(blob)
    return core.execution_step(name, [
        core.to_execution_step(copy_net),
        _run_once_if(name + "/true", copy, true_nets_or_steps, False),
        _run_once_if(name + "/false", copy, false_nets_or_steps, True)])


def IfNot(name, condition_blob_or_net, true_nets_or_steps, false_nets_or_steps=None):
    """If, with the condition inverted."""
    if false_nets_or_steps is None:
        return _run_once_if(_next_name("IfNot", name), condition_blob_or_net, true_nets_or_steps,
                            True)
    return If(name, condition_blob_or_net, false_nets_or_steps, true_nets_or_steps)


def Switch(name, *conditions):
    """Runs the body of the first true condition: pairs (condition, nets or steps)."""
    pairs = conditions[0] if len(conditions) == 1 and isinstance(conditions[0], list) \
        else list(conditions)
    return _switch(name, pairs, False)


def SwitchNot(name, *conditions):
    """Switch to the first condition that is false."""
    pairs = conditions[0] if len(conditions) == 1 and isinstance(conditions[0], list) \
        else list(conditions)
    return _switch(name, pairs, True)


def _switch(name, pairs, invert):
    (condition, body), *others = pairs
    choose = IfNot if invert else If
    if not others:
        return choose(name, condition, body)
    return choose(name, condition, body, _switch(name, others, invert))


def While(name, condition_blob_or_net, nets_or_steps):
    """Repeats the body as long as the condition is true; it is tested first."""
    first, stop = _condition_steps(condition_blob_or_net, False)
    body = [core.to_execution_step(item) for item in _as_list(nets_or_steps)]
    return core.execution_step(
        _next_name("While", name), [*first, *body], should_stop_blob=stop)


def Until(name, condition_blob_or_net, nets_or_steps):
    """Repeats the body as long as the condition is false; it is tested first."""
    first, stop = _condition_steps(condition_blob_or_net, True)
    body = [core.to_execution_step(item) for item in _as_list(nets_or_steps)]
    return core.execution_step(
        _next_name("Until", name), [*first, *body], should_stop_blob=stop)


def DoWhile(name, condition_blob_or_net, nets_or_steps):
    """Runs the body, and again as long as the condition is true behind it."""
    after, stop = _condition_steps(condition_blob_or_net, False)
    return _do_until(_next_name("DoWhile", name), after, stop, nets_or_steps)


def DoUntil(name, condition_blob_or_net, nets_or_steps):
    """Runs the body, and again as long as the condition is false behind it."""
    after, stop = _condition_steps(condition_blob_or_net, True)
    return _do_until(_next_name("DoUntil", name), after, stop, nets_or_steps)


def _do_until(name, after, stop, nets_or_steps):
    # The step stops before its first substep, too, where the blob is true already.
    clear = BoolNet((stop, False))
    body = [core.to_execution_step(item) for item in _as_list(nets_or_steps)]
    return core.execution_step(name, [
        core.to_execution_step(clear),
        core.execution_step(name + "/loop", [*body, *after], should_stop_blob=stop)])


def For(name, nets_or_steps, iter_num):
    """Runs the body `iter_num` times."""
    init_net = core.Net(_next_name("for_init", None))
    counter = init_net.CreateCounter([], init_count=iter_num)
    check_net = core.Net(_next_name("for_check", None))
    done = check_net.CountDown([counter])
    check_net.AddExternalOutput(done)
    return Do(name, init_net, Until(f"{name}-loop", check_net, nets_or_steps))
