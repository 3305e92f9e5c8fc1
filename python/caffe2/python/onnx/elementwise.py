"""ONNX's functions of single elements, and the operators that repeat elements."""

from __future__ import annotations

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python.onnx import broadcasting
from caffe2.python.onnx.node import with_arguments

_SAME_MEANING = {
    "Abs": "Abs", "Acos": "Acos", "Add": "Add", "And": "And", "Asin": "Asin", "Atan": "Atan",
    "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor",
    "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Div": "Div", "Equal": "EQ", "Erf": "Erf",
    "Exp": "Exp", "Floor": "Floor", "Greater": "GT", "GreaterOrEqual": "GE", "Identity": "Copy",
    "Less": "LT", "LessOrEqual": "LE", "Log": "Log", "Mish": "Mish", "Mul": "Mul",
    "Neg": "Negative", "Not": "Not", "Or": "Or", "Relu": "Relu",
    "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Size": "Size",
    "Softplus": "Softplus", "Softsign": "Softsign", "Sqrt": "Sqrt", "Sub": "Sub", "Tan": "Tan",
    "Tanh": "Tanh", "Xor": "Xor",
}


def _same_meaning(node):
    arguments = {}
    if node.attribute("broadcast", 0):  # before operator set 7, which broadcasts as numpy does
        arguments = {"broadcast": 1, "axis": node.attribute("axis", -1)}
    node.add(_SAME_MEANING.get(node.type, node.type), node.input, node.output[:1], **arguments)


def _reciprocal(node):
    node.add("Pow", node.input, node.output, exponent=-1.0)


def _pow(node):
    exponent = node.constant_value(node.input[1])
    if exponent is not None and exponent.size == 1 and exponent.dtype.kind == "i" \
            and broadcasting.covers(node.shape_of(node.input[0]), exponent.shape):
        node.add("Pow", node.input[:1], node.output, exponent=float(exponent.reshape(())))
    else:  # of one type
        _same_meaning(node)


def _mod(node):
    divisor = node.constant(1)
    if divisor.dtype.kind != "i" or divisor.size != 1 or not divisor.all():
        node.fail(f"the divisor must be one integer other than 0, found {divisor.dtype} "
                  f"{divisor.tolist()}")
    if not broadcasting.covers(node.shape_of(node.input[0]), divisor.shape):
        node.fail(f"a divisor of shape {list(divisor.shape)} must not have more dimensions than "
                  "the dividend")
    node.add("Mod", node.input[:1], node.output, divisor=int(divisor.reshape(())),
             sign_follow_divisor=not node.attribute("fmod", 0))


def _hard_swish(node):
    gate = node.add("HardSigmoid", node.input, node.new_name("gate"), alpha=1 / 6, beta=0.5)
    node.add("Mul", [node.input[0], gate], node.output)


def _swish(node):
    if node.attribute("alpha", 1.0) != 1:
        node.fail(f"alpha {node.attribute('alpha')} is not supported, only 1")
    node.add("Swish", node.input, node.output)


def _gelu(node):
    node.add("Gelu", node.input, node.output,
             fast_gelu=node.attribute("approximate", "none") == "tanh")


def _expand(node):
    shape = node.constant_value(node.input[1])
    if shape is None:
        node.add("Expand", node.input, node.output)
    else:
        node.add("Expand", node.input[:1], node.output, shape=[int(size) for size in shape])


def _where(node):
    condition, x, y = node.input
    shapes = [node.shape_of(name) for name in node.input]
    if all(broadcasting.covers(a, b) for a in shapes for b in shapes):
        node.add("Where", node.input, node.output)
        return

    def widen(blob, like):
        shape = node.add("Shape", [like], node.new_name("shape"))
        return node.add("Expand", [blob, shape], node.new_name("expanded"))

    # Expand takes numbers only.
    number = node.add("Cast", [condition], node.new_name("number"), to=caffe2_pb2.TensorProto.INT32)
    number = widen(widen(number, x), y)
    x, y = widen(x, number), widen(y, number)
    condition = node.add(
        "Cast", [number], node.new_name("condition"), to=caffe2_pb2.TensorProto.BOOL)
    node.add("Where", [condition, x, y], node.output)


def _one_hot(node):
    depth, values, axis = node.constant(1), node.constant(2), node.attribute("axis", -1)
    if values.dtype != np.float32 or values.tolist() != [0, 1]:
        node.fail(f"values {values.dtype} {values.tolist()} are not supported, only the floats 0 "
                  "and 1")
    if node.rank(0) != 1 or axis not in (-1, 1):
        node.fail(f"indices of {node.rank(0)} dimensions with axis {axis} are not supported, only "
                  "one dimension and the last axis")
    if depth.size != 1:
        node.fail(f"depth must be one number, found {depth.tolist()}")
    width = node.add_constant(np.array([int(depth.reshape(()))]), node.new_name("depth"))
    indices = node.add(
        "Cast", node.input[:1], node.new_name("indices"), to=caffe2_pb2.TensorProto.INT64)
    node.add("OneHot", [indices, width], node.output)


TRANSLATORS = {
    **dict.fromkeys(_SAME_MEANING, _same_meaning),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), broadcasting.translate),
    "Elu": with_arguments("Elu", alpha=("alpha", 1.0)),
    "Expand": _expand, "Gelu": _gelu,
    "HardSigmoid": with_arguments("HardSigmoid", alpha=("alpha", 0.2), beta=("beta", 0.5)),
    "HardSwish": _hard_swish,
    "LeakyRelu": with_arguments("LeakyRelu", alpha=("alpha", 0.01)),
    "Mod": _mod, "OneHot": _one_hot, "Pow": _pow,
    "Range": with_arguments("Range"), "Reciprocal": _reciprocal,
    "Selu": with_arguments("Selu", alpha=("alpha", 1.6732632423543772),
                           scale=("gamma", 1.0507009873554805)),
    "Swish": _swish,
    "ThresholdedRelu": with_arguments("ThresholdedRelu", alpha=("alpha", 1.0)),
    "Tile": with_arguments("NumpyTile"), "Where": _where,
}
