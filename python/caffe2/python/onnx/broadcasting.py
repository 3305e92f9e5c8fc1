"""ONNX's Max, Min, Mean and Sum, which broadcast as NumPy does; our operators of these names do
not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

# Of a blob: None if it is not known. A dimension is a number, a name, or None if it is not known.
Shape = Optional[Sequence[Union[int, str, None]]]


def covers(shape: Shape, other: Shape) -> bool:
    """True if broadcasting with `other` surely leaves the shape as it is."""
    if other is None or shape is None:
        return other is not None and len(other) == 0
    if len(other) > len(shape):
        return False
    pairs = zip(reversed(shape), reversed(other))
    return all(b == 1 or (a == b and a is not None) for a, b in pairs)


def _same(shape: Shape, other: Shape, has_constant: bool) -> bool:
    """True unless shapes differ. An unknown shape is taken for the same, but not beside a
    constant: whoever gives one relies on broadcasting."""
    if shape is None or other is None:
        return not has_constant
    return len(shape) == len(other) and not any(
        a != b and ((isinstance(a, int) and isinstance(b, int)) or 1 in (a, b))
        for a, b in zip(shape, other))


def _result_of(shape: Shape, other: Shape) -> Shape:
    if covers(shape, other):
        return shape
    return other if covers(other, shape) else None


def _expanded_pair(node, names, shapes):
    """Both blobs with the shape of their result. The first is one that was not expanded, if there
    is one, as the shape of the other is known at run time only."""
    ready = []
    for i in (0, 1):
        if covers(shapes[i], shapes[1 - i]):
            ready.insert(0, names[i])
            continue
        to = node.add("Shape", [names[1 - i]], node.new_name("shape"))
        ready.append(node.add("Expand", [names[i], to], node.new_name("expanded")))
    return ready


def _extremum(node, x, shape, i, output):
    """Max or Min of the blob x and input i."""
    for name, blob in ((x, node.input[i]), (node.input[i], x)):
        limit = node.constant_value(blob)
        if limit is not None and limit.size == 1 and limit.dtype == np.float32 \
                and (limit.ndim == 0 or covers(node.shape_of(name), limit.shape)):
            bound = "min" if node.type == "Max" else "max"
            return node.add("Clip", [name], output, **{bound: float(limit.reshape(()))})
    pair = _expanded_pair(node, (x, node.input[i]), (shape, node.shape_of(node.input[i])))
    return node.add(node.type, pair, output)


def translate(node: Any) -> None:
    """Translates a node of backend.py of these types."""
    shapes = [node.shape_of(name) for name in node.input]
    has_constant = any(node.constant_value(name) is not None for name in node.input)
    if all(_same(shapes[0], shape, has_constant) for shape in shapes[1:]):
        node.add(node.type, node.input, node.output[:1])
        return
    x, shape, last = node.input[0], shapes[0], len(node.input) - 1
    for i in range(1, last + 1):
        output = node.output[0] if i == last and node.type != "Mean" else node.new_name("part")
        if node.type in ("Max", "Min"):
            x = _extremum(node, x, shape, i, output)
        else:
            x = node.add("Add", [x, node.input[i]], output)
        shape = _result_of(shape, shapes[i])
    if node.type == "Mean":
        node.add("Scale", [x], node.output[:1], scale=1 / len(node.input))
