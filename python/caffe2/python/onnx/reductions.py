"""ONNX's reductions and softmaxes: values over axes."""

from __future__ import annotations

import numpy as np

# The largest finite float.
_LIMIT = float(np.finfo(np.float32).max)

# The reductions that do nothing if there are no axes and the node asks for that. The texts of ONNX
# differ on the others, such as ReduceL1.
_IDENTITY_WITHOUT_AXES = ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum")


def _softmax(node):
    if node.opset < 13:
        node.add("Softmax", node.input, node.output, axis=node.attribute("axis", 1))
        return
    axis = node.attribute("axis", -1)
    if axis == -1 or node.axis(axis) == node.rank(0) - 1:
        node.add("Softmax", node.input, node.output, axis=axis)
        return
    # Along one axis only: it is swapped with the last axis, and back.
    rank = node.rank(0)
    places = list(range(rank))
    places[axis], places[-1] = places[-1], places[axis]
    x = node.add("Transpose", node.input, node.new_name("last"), axes=places)
    x = node.add("Softmax", [x], node.new_name("softmax"), axis=rank - 1)
    node.add("Transpose", [x], node.output, axes=places)


def _add_maximum(node, x, **arguments):
    """The maximum over axes, or the next finite number: inf - inf would be no number."""
    maximum = node.add("ReduceMax", [x], node.new_name("maximum"), **arguments)
    return node.add("Clip", [maximum], node.new_name("finite"), min=-_LIMIT, max=_LIMIT)


def _log_softmax(node):
    """x - max - log(sum(exp(x - max))); the logarithm of Softmax would be -inf for values that are
    104 less than the maximum."""
    axis = node.attribute("axis", 1 if node.opset < 13 else -1)
    if node.opset >= 13:
        axes = [axis]
    elif axis == -1:
        axes = [-1]
    else:  # all axes from this one on are one row
        if not -node.rank(0) <= axis < node.rank(0):
            node.fail(f"axis {axis} is out of range for {node.rank(0)} dimensions")
        axes = list(range(node.axis(axis), node.rank(0)))
    maximum = _add_maximum(node, node.input[0], axes=axes, keepdims=1)
    x = node.add("Sub", [node.input[0], maximum], node.new_name("shifted"))
    total = node.add("Exp", [x], node.new_name("exp"))
    total = node.add("ReduceSum", [total], node.new_name("total"), axes=axes, keepdims=1)
    total = node.add("Log", [total], node.new_name("log"))
    node.add("Sub", [x, total], node.output)


def _axes_and_keepdims(node):
    """Arguments of a reduction; None if it does nothing."""
    arguments = {"keepdims": node.attribute("keepdims", 1)}
    axes = node.values("axes", 1)
    if axes:
        arguments["axes"] = axes
    elif node.attribute("noop_with_empty_axes", 0):
        if node.type not in _IDENTITY_WITHOUT_AXES:
            node.fail("noop_with_empty_axes without axes is not supported")
        return None
    return arguments


def _reduce(node):
    arguments = _axes_and_keepdims(node)
    if arguments is None:
        node.add("Copy", node.input[:1], node.output)
    else:
        node.add(node.type, node.input[:1], node.output, **arguments)


def _reduce_sum_square(node):
    arguments = _axes_and_keepdims(node)
    squares = node.add("Mul", [node.input[0], node.input[0]], node.new_name("squares"))
    node.add("ReduceSum", [squares], node.output, **arguments)


def _reduce_log_sum(node):
    arguments = _axes_and_keepdims(node)
    total = node.add("ReduceSum", node.input[:1], node.new_name("total"), **arguments)
    node.add("Log", [total], node.output)


def _reduce_log_sum_exp(node):
    arguments = _axes_and_keepdims(node)
    x = node.input[0]
    maximum = _add_maximum(node, x, **{**arguments, "keepdims": 1})
    total = node.add("Sub", [x, maximum], node.new_name("shifted"))
    total = node.add("Exp", [total], node.new_name("exp"))
    total = node.add("ReduceSum", [total], node.new_name("total"), **arguments)
    total = node.add("Log", [total], node.new_name("log"))
    if not arguments["keepdims"]:
        maximum = _add_maximum(node, x, **arguments)
    node.add("Add", [total, maximum], node.output)


def _arg_extreme(node):
    if node.attribute("select_last_index", 0):
        node.fail("select_last_index is not supported: the first of equal elements is taken here")
    node.add(node.type, node.input, node.output, axis=node.attribute("axis", 0),
             keepdims=node.attribute("keepdims", 1))


def _top_k(node):
    k = np.ravel(node.attribute("k") if node.opset < 10 else node.constant(1)).tolist()
    axis = node.attribute("axis", -1)
    if len(k) != 1 or k[0] < 1:
        node.fail(f"its number of elements must be one positive number, found {k}")
    size = node.size_of(0, axis)
    if size is not None and k[0] > size:
        node.fail(f"{k[0]} elements are asked for, but axis {axis} has {size}")
    if node.attribute("largest", 1):
        node.add("TopK", node.input[:1], node.output, k=k[0], axis=axis)
        return
    negative = node.add("Negative", node.input[:1], node.new_name("negative"))
    negative = node.add("TopK", [negative], [node.new_name("largest"), node.output[1]], k=k[0],
                        axis=axis)
    node.add("Negative", [negative], node.output[0])


TRANSLATORS = {
    **dict.fromkeys((*_IDENTITY_WITHOUT_AXES, "ReduceL1", "ReduceL2"), _reduce),
    "ArgMax": _arg_extreme, "ArgMin": _arg_extreme, "LogSoftmax": _log_softmax,
    "ReduceLogSum": _reduce_log_sum, "ReduceLogSumExp": _reduce_log_sum_exp,
    "ReduceSumSquare": _reduce_sum_square, "Softmax": _softmax, "TopK": _top_k,
}
