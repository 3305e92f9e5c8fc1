"""If and While operators over nets, each of which runs in a scope of its own (operator Do)."""

from caffe2.python import core
from caffe2.python._gradients import get_ssa, get_undefined_blobs


def get_external_blob_names(net, lexical_scope):
    """(blobs that the net reads from outside, blobs of `lexical_scope` that it writes), sorted.

    Raises ValueError if it reads a blob that is not in the scope.
    """
    scope = {str(blob) for blob in lexical_scope}
    ssa, _ = get_ssa(net)
    inputs = {str(name) for name in get_undefined_blobs(ssa)}
    missing = sorted(inputs - scope)
    if missing:
        raise ValueError(f"net {net.Name()} reads {missing}, which are undefined")
    outputs = {name for op in net.Proto().op for name in op.output} & scope
    return sorted(inputs), sorted(outputs)


def _do_net(outer_net, net, lexical_scope, name):
    """(a net with a Do operator around `net`, its inputs, its outputs, the blob of its scope)."""
    inputs, outputs = get_external_blob_names(net, lexical_scope)
    scope_blob = outer_net.NextScopedBlob(f"{outer_net.Name()}/{name}_workspace")
    outer_net.CreateScope([], [scope_blob])
    # Every blob keeps its name inside; an index counts inputs, then further outputs.
    names = inputs + [blob for blob in outputs if blob not in inputs]
    do_net = core.Net(name)
    references = [core.BlobReference(blob) for blob in inputs]
    do_net.Do([*references, scope_blob],
              [*(core.BlobReference(blob) for blob in outputs), scope_blob],
              net=net.Proto(), inner_blobs=names, outer_blobs_idx=list(range(len(names))))
    return do_net, inputs, outputs, scope_blob


def _add(outer_net, op_type, cond_blob, parts, arguments):
    """Adds the control operator over its nets, from (inputs, outputs, scope blob) of each."""
    inputs = [str(cond_blob)] if op_type == "If" else []
    outputs = []
    for part_inputs, part_outputs, scope_blob in parts:
        # What one branch may leave alone is read, too.
        inputs += [*part_inputs, str(scope_blob)]
        outputs += [*part_outputs, str(scope_blob)]
    if op_type == "While":
        inputs = [str(cond_blob), *inputs]
    first = inputs[0]
    inputs = [first, *dict.fromkeys(blob for blob in inputs[1:] if blob != first)]
    outer_net.__getattr__(op_type)(
        [core.BlobReference(blob) for blob in inputs],
        [core.BlobReference(blob) for blob in dict.fromkeys(outputs)], **arguments)


def add_if_op(if_net, cond_blob, lexical_scope, then_net, else_net=None):
    """Adds to `if_net` an If operator.

    Args:
      cond_blob: bool [1].
      lexical_scope: the blobs around, which the nets may read and write; others are their own.
      then_net, else_net: Nets.

    Raises ValueError if a net reads a blob that is not there.
    """
    parts, arguments = [], {}
    for name, net in (("then", then_net), ("else", else_net)):
        if net is None:
            continue
        do_net, *part = _do_net(if_net, net, lexical_scope, f"do_{name}")
        parts.append(part)
        arguments[f"{name}_net"] = do_net.Proto()
    _add(if_net, "If", cond_blob, parts, arguments)


def add_while_op(while_net, cond_blob, lexical_scope, loop_body_net, condition_body_net=None):
    """Adds to `while_net` a While operator: the condition net, if there is one, writes `cond_blob`
    before each iteration; else the loop body does. Otherwise as add_if_op."""
    scope = {*map(str, lexical_scope), str(cond_blob)}
    if not while_net.BlobIsDefined(cond_blob):
        while_net.Const(False, blob_out=cond_blob)
    parts, arguments = [], {}
    for name, net in (("loop", loop_body_net), ("cond", condition_body_net)):
        if net is None:
            continue
        do_net, *part = _do_net(while_net, net, scope, f"do_{name}")
        parts.append(part)
        arguments[f"{name}_net"] = do_net.Proto()
    _add(while_net, "While", cond_blob, parts, arguments)
