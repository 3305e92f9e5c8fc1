"""Gradients of operators and nets; public through caffe2.python.core."""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, TypeVar, Union

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python._core.ssa import get_ssa

# The gradient of a blob that was read row by row: rows `indices` have gradients `values`.
GradientSlice = collections.namedtuple("GradientSlice", ["indices", "values"])
Gradient = Optional[Union[BlobLike, GradientSlice]]

# The blobs whose sum is differentiated: a list, or {blob: its gradient blob, or None for ones}.
Losses = Union[Sequence[BlobLike], Mapping[Any, Optional[BlobLike]]]

_Operators = list[caffe2_pb2.OperatorDef]
# The operators of a gradient, and the gradients of the inputs of the operator.
GradientOps = tuple[_Operators, list[Gradient]]
_F = TypeVar("_F", bound=Callable[..., Any])

# The operator that makes a gradient, the index of its output, and its device. A sparse gradient has
# an operator and an index for its indices and for its values.
GradGenMeta = collections.namedtuple("GradGenMeta", ["grad_op", "idx", "gradient", "device_option"])
SparseGradGenMeta = collections.namedtuple("SparseGradGenMeta", [
    "grad_op_indices", "idx_indices", "grad_op_values", "idx_values", "gradient", "device_option"])


def GetIndexFromGradientList(g_list: Sequence[Gradient], name: BlobLike) -> int | None:
    """The index of the gradient that is the blob `name`, or the GradientSlice with this part; None
    if there is none."""
    for i, gradient in enumerate(g_list):
        if name in (gradient if isinstance(gradient, GradientSlice) else (gradient,)):
            return i
    return None


def _wrap(gradient):
    """A GradientWrapper from a blob, a GradientSlice or None."""
    wrapper = C.GradientWrapper()
    if isinstance(gradient, GradientSlice):
        wrapper.indices = str(gradient.indices)
        wrapper.values = str(gradient.values)
    elif gradient is not None:
        wrapper.dense = str(gradient)
    return wrapper


def _unwrap(wrapper):
    if wrapper.is_empty():
        return None
    if wrapper.is_sparse():
        return GradientSlice(BlobReference(wrapper.indices), BlobReference(wrapper.values))
    return BlobReference(wrapper.dense)


def _parse_op(serialized):
    op = caffe2_pb2.OperatorDef()
    op.ParseFromString(serialized)
    return op


class GradientRegistry:
    """The gradients of operator types: the C++ library's, and gradients registered in Python."""

    @classmethod
    def RegisterGradient(cls, op_type: str) -> Callable[[_F], _F]:
        """Decorator of a function (OperatorDef, output gradients) -> (OperatorDefs, input
        gradients), where a gradient is a blob, a GradientSlice or None."""

        def decorate(function):
            def call(serialized, g_output):
                ops, g_input = function(_parse_op(serialized), [_unwrap(g) for g in g_output])
                ops = [ops] if isinstance(ops, caffe2_pb2.OperatorDef) else ops
                return [op.SerializeToString() for op in ops], [_wrap(g) for g in g_input]

            C.register_python_gradient(op_type, call)
            return function

        return decorate

    @classmethod
    def GetGradientForOp(cls, op: caffe2_pb2.OperatorDef,
                         g_output: Sequence[Gradient]) -> GradientOps:
        """(gradient OperatorDefs, input gradients) of one operator.

        Raises RuntimeError if the operator type has no gradient.
        """
        ops, g_input = C.get_gradient_defs(op.SerializeToString(), [_wrap(g) for g in g_output])
        return [_parse_op(serialized) for serialized in ops], [_unwrap(g) for g in g_input]

    @classmethod
    def GetBackwardPass(cls, operators: Sequence[caffe2_pb2.OperatorDef], ys: Losses,
                        ys_generate_gradient: bool = False, net_name: str = ""
                        ) -> tuple[_Operators, dict[str, Gradient]]:
        """(gradient OperatorDefs, {blob name: gradient}) of a list of operators.

        Args:
          operators: OperatorDefs in the order they run.
          ys: the blobs whose sum is differentiated: a list, or a dict blob -> gradient blob, where
            None starts from ones.
          net_name: the net that errors name.

        Raises RuntimeError if an operator on the way has no gradient, or if a gradient needs a
        version of a blob that was overwritten; ValueError if nothing reads the output of a
        StopGradient.
        """
        losses = _losses(ys)
        _check_stop_gradients(operators, ys)
        net = caffe2_pb2.NetDef(name=net_name)
        net.op.extend(operators)
        ops, gradients = C.get_backward_pass(net.SerializeToString(), losses)
        return ([_parse_op(serialized) for serialized in ops],
                {name: _unwrap(gradient) for name, gradient in gradients.items()})


def is_gradient_sum(op: caffe2_pb2.OperatorDef) -> bool:
    """True for an operator that the backward pass added to sum gradients."""
    return f"{IR.IS_AUTO_GEN_SUM_OPS_TAG}:1" in op.device_option.extra_info


def _losses(ys):
    """[(loss, its gradient blob or "")], each loss once."""
    if isinstance(ys, dict):
        return [(str(y), "" if g is None else str(g)) for y, g in ys.items()]
    if isinstance(ys, (list, tuple)):
        return [(y, "") for y in dict.fromkeys(map(str, ys))]
    hint = f'; give ["{ys}"]' if isinstance(ys, (str, BlobReference)) else ""
    raise TypeError(f"ys is a list or a dict of blobs, not {ys!r}{hint}")


def _check_stop_gradients(operators, ys):
    """Refuses a StopGradient whose output is neither read nor a loss: it stops nothing."""
    read = {blob for op in operators for blob in op.input} | {str(y) for y in ys}
    for op in operators:
        if op.type == "StopGradient" and op.output[0] not in read:
            raise ValueError(
                f"nothing reads {op.output[0]}, the output of StopGradient of {op.input[0]}: write "
                f"it in place of {op.input[0]}, or let the operators after it read it")


# An operator, and {blob: version} of the blobs that it reads and writes; see ssa.py.
OpSSA = collections.namedtuple("OpSSA", ["op", "in_versions", "out_versions"])


class IR:
    """Which versions of blobs a list of OperatorDefs reads and writes.

    Attributes:
      ssa: list of OpSSA.
      frontier: {blob: its last version}.
      input_usages: {blob: {version: indices of the operators that read it}}.
    """

    # Entries of extra_info of devices, with ":1". The first marks sums of gradients; the second
    # asks that sums take no other extra_info over from the gradients.
    IS_AUTO_GEN_SUM_OPS_TAG = "is_auto_gen_sum_ops"
    ONLY_KEEP_IS_AUTO_GEN_SUM_OPS_TAG = "only_keep_is_auto_gen_sum_ops_tag"
    AUTOGEN_GRAD_SUFFIX = "_autogen_grad"

    def __init__(self, operators: Sequence[caffe2_pb2.OperatorDef]) -> None:
        net = caffe2_pb2.NetDef(op=operators)
        ssa, versions = get_ssa(net)
        self.ssa = [OpSSA(op, dict(inputs), dict(outputs))
                    for op, (inputs, outputs) in zip(net.op, ssa)]
        self.frontier = versions
        self.input_usages: dict[str, dict[int, list[int]]] = collections.defaultdict(
            lambda: collections.defaultdict(list))
        for i, (inputs, _) in enumerate(ssa):
            for blob, version in inputs:
                self.input_usages[blob][version].append(i)

    def GetBackwardPass(self,
                        ys: Losses) -> tuple[_Operators, dict[str, Gradient]]:
        """See GradientRegistry.GetBackwardPass."""
        return GradientRegistry.GetBackwardPass([record.op for record in self.ssa], ys)


def gradient_in_net(gradient: Gradient, net: Any) -> Gradient:
    """The gradient with BlobReferences that belong to `net`; None stays None."""
    if isinstance(gradient, GradientSlice):
        return GradientSlice(*(BlobReference(blob, net) for blob in gradient))
    return BlobReference(gradient, net) if gradient is not None else None


def deduplicate_slices(net: Any, g: GradientSlice, aggregator: str) -> GradientSlice:
    """Adds the operators of Net.DeduplicateGradientSlices to `net`."""
    reduce = {"sum": "UnsortedSegmentSum", "mean": "UnsortedSegmentMean"}.get(aggregator.lower())
    if reduce is None:
        raise ValueError(f"aggregator must be sum or mean, not {aggregator}")
    unique, positions = net.Unique([g.indices], 2, engine="SparseHash")
    return GradientSlice(indices=unique, values=getattr(net, reduce)([g.values, positions], 1))
