"""The window of convolutions, pools and similar operators, as they read it from their arguments
(operators/conv/conv_pool_shape.h)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python._core.arguments import ArgsToDict
from caffe2.python._core.operator_types import rules_of_arguments

# Names of a size; operators read the first of these groups that is given.
_PADS = (("pads",), ("pad",), ("pad_t", "pad_l", "pad_b", "pad_r"))


def _sizes(base):
    return (base + "s",), (base + "_h", base + "_w"), (base,)


def _given(values: dict[str, Any], groups: tuple[tuple[str, ...], ...]) -> list[str]:
    for group in groups:
        names = [name for name in group if name in values]
        if names:
            return names
    return []


def _limits(values: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """The arguments that the operator reads, each with the least value that it may have."""
    kernel = 0 if values.get("global_pooling") else 1
    for groups, least in ((_sizes("kernel"), kernel), (_sizes("stride"), 1),
                          (_sizes("dilation"), 1), (_sizes("adj"), 0), (_PADS, 0),
                          ((("group",),), 1)):
        for name in _given(values, groups):
            yield name, least


def _check_kernel(op_type, values, pools):
    if values.get("global_pooling"):
        return
    given = _given(values, _sizes("kernel"))
    if given in (["kernel_h"], ["kernel_w"]):
        other = "kernel_w" if given == ["kernel_h"] else "kernel_h"
        raise ValueError(f"operator {op_type} has the argument {given[0]} and needs {other}, too")
    if not given or values[given[0]] is None:  # None: an empty list
        instead = ", or global_pooling=1" if pools else ""
        raise ValueError(f"operator {op_type} needs the argument kernel, the size of its window "
                         f"(or kernels, or kernel_h and kernel_w{instead})")


def check_window(operator: caffe2_pb2.OperatorDef) -> None:
    """Raises ValueError if an operator with a window has no kernel, or a size, stride, dilation,
    pad or group that no window can have. Other operators pass."""
    rules, _ = rules_of_arguments(operator.type)
    if "kernel" not in rules or rules["kernel"].type != "int":
        return  # the kernel of ChannelShuffle is without effect
    values = ArgsToDict(operator.arg)
    _check_kernel(operator.type, values, "global_pooling" in rules)
    for name, least in _limits(values):
        value = values[name]
        sizes = value if isinstance(value, list) else [value]
        if any(isinstance(size, int) and size < least for size in sizes):
            raise ValueError(f"operator {operator.type}: argument {name} is {value}, must be at "
                             f"least {least}")
