"""The library's gradients of control operators, and a function that changes one."""

from __future__ import annotations

from collections.abc import Sequence

from caffe2.proto import caffe2_pb2
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._core.gradients import Gradient, GradientOps, GradientRegistry


def _gradient_of(op_type, op, g_output):
    if op.type != op_type:
        raise ValueError(f"the operator is {op.type}, not {op_type}")
    return GradientRegistry.GetGradientForOp(op, g_output)


def gen_do_gradient(op: caffe2_pb2.OperatorDef, g_output: Sequence[Gradient]) -> GradientOps:
    """(gradient OperatorDefs, gradients of the inputs) of a Do, from the gradients of its outputs
    (blobs or None). Raises ValueError for another operator."""
    return _gradient_of("Do", op, g_output)


def gen_if_gradient(op: caffe2_pb2.OperatorDef, g_output: Sequence[Gradient]) -> GradientOps:
    """As gen_do_gradient, of an If."""
    return _gradient_of("If", op, g_output)


def gen_while_gradient(op: caffe2_pb2.OperatorDef, g_output: Sequence[Gradient]) -> GradientOps:
    """As gen_do_gradient, of a While."""
    return _gradient_of("While", op, g_output)


def disambiguate_grad_if_op_output(grad_op: caffe2_pb2.OperatorDef, idx: int,
                                   new_grad_output: BlobLike) -> None:
    """Renames output `idx` of the gradient of an If in place, also in the nets of its branches."""
    old, new = grad_op.output[idx], str(new_grad_output)
    for argument in grad_op.arg:
        if argument.name in ("then_net", "else_net"):
            for op in argument.n.op:
                op.output[:] = [new if blob == old else blob for blob in op.output]
            outputs = argument.n.external_output
            outputs[:] = [new if blob == old else blob for blob in outputs]
    grad_op.output[idx] = new
