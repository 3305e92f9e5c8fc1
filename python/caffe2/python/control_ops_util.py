"""Adds If and While operators. Each of their nets runs in a scope of its own (operator Do)."""

from __future__ import annotations

from collections.abc import Iterable

from caffe2.python import core
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.ssa import get_ssa, get_undefined_blobs


def get_external_blob_names(net: core.Net,
                            lexical_scope: Iterable[BlobLike]) -> tuple[list[str], list[str]]:
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


def _add(outer_net, op_type, cond_blob, lexical_scope, nets):
    """Adds the control operator over its nets, {argument: Net or None}."""
    inputs, outputs, arguments = [], [], {}
    for argument, net in nets.items():
        if net is None:
            continue
        do_net, read, written, scope_blob = _do_net(outer_net, net, lexical_scope,
                                                    f"do_{argument}")
        inputs += [*read, str(scope_blob)]
        outputs += [*written, str(scope_blob)]
        arguments[argument] = do_net.Proto()
    condition = str(cond_blob)
    inputs = [condition, *dict.fromkeys(blob for blob in inputs if blob != condition)]
    getattr(outer_net, op_type)(
        [core.BlobReference(blob) for blob in inputs],
        [core.BlobReference(blob) for blob in dict.fromkeys(outputs)], **arguments)


def add_if_op(if_net: core.Net, cond_blob: BlobLike, lexical_scope: Iterable[BlobLike],
              then_net: core.Net, else_net: core.Net | None = None) -> None:
    """Adds to `if_net` an If operator.

    Args:
      cond_blob: bool [1].
      lexical_scope: the outer blobs that the nets may read and write; other blobs are local.
      then_net, else_net: Nets.

    Raises ValueError if a net reads a blob that is neither local nor in the scope.
    """
    _add(if_net, "If", cond_blob, lexical_scope, {"then_net": then_net, "else_net": else_net})


def add_while_op(while_net: core.Net, cond_blob: BlobLike, lexical_scope: Iterable[BlobLike],
                 loop_body_net: core.Net, condition_body_net: core.Net | None = None) -> None:
    """Adds to `while_net` a While operator: the condition net, if there is one, writes `cond_blob`
    before each iteration; else the loop body does. Otherwise as add_if_op."""
    if not while_net.BlobIsDefined(cond_blob):
        while_net.Const(False, blob_out=cond_blob)
    _add(while_net, "While", cond_blob, {*map(str, lexical_scope), str(cond_blob)},
         {"loop_net": loop_body_net, "cond_net": condition_body_net})
