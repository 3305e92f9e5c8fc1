"""An ONNX node while backend.py translates it into operators."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

from caffe2.python import core
from caffe2.python.onnx.error import Unsupported


def array_of(tensor: onnx.TensorProto, name: str) -> np.ndarray:
    """The array of a TensorProto; raises Unsupported, which names it."""
    try:
        return numpy_helper.to_array(tensor)
    except KeyError as error:
        raise Unsupported(f"tensor {name}: {tensor.data_type} is no type of elements") from error
    except (ValueError, TypeError, OverflowError) as error:
        shape = list(tensor.dims)
        raise Unsupported(f"tensor {name} {shape} is damaged: {error}") from error


class Node:
    """A NodeProto while it is translated.

    Attributes:
      type, opset: the type of the node and the operator set of its model.
      input, output: names of blobs; "" is one that is left out.
      operators: the OperatorDefs so far.
      new_constants: {blob: array} that the init net must make for them.
    """

    def __init__(self, node: Any, opset: int, constants: Any, shapes: Any) -> None:
        self.type, self.opset = node.op_type, opset
        self.input, self.output = list(node.input), list(node.output)
        while self.input and not self.input[-1]:
            self.input.pop()
        self.operators: list[Any] = []
        self.new_constants: dict[str, np.ndarray] = {}
        self._attributes = {
            attribute.name: onnx.helper.get_attribute_value(attribute)
            for attribute in node.attribute}
        self._constants = constants
        self._shapes = shapes

    def fail(self, why: str) -> None:
        """Raises Unsupported, which names the node."""
        raise Unsupported(f"ONNX node {self.type} ({', '.join(self.output)}): {why}")

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or the default."""
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def known_rank(self, i: int) -> int | None:
        """The number of dimensions of input i, or None."""
        shape = self.shape_of(self.input[i])
        return None if shape is None else len(shape)

    def shape_of(self, name: str) -> Any:
        """The shape of a blob (broadcasting.Shape)."""
        if name in self._constants:
            return self._constants[name].shape
        return self._shapes.get(name)

    def rank(self, i: int) -> Any:
        """known_rank; raises Unsupported if it is not known."""
        rank = self.known_rank(i)
        if rank is None:
            self.fail(f"the number of dimensions of input {i} ({self.input[i]}) is not known")
        return rank

    def size_of(self, i: int, axis: int) -> int | None:
        """The size of an axis of input i, or None if it is not known."""
        shape = self.shape_of(self.input[i])
        known = shape is not None and -len(shape) <= axis < len(shape)
        size = shape[axis] if known else None
        return size if isinstance(size, int) else None

    def axis(self, axis: int, rank: int | None = None) -> int:
        """An axis, which may be counted from the end, of input 0 or of `rank` dimensions."""
        if axis >= 0:
            return axis
        return axis + (self.rank(0) if rank is None else rank)

    def constant(self, i: int, default: Any = None) -> Any:
        """The value of input i, which must be an initializer or a Constant."""
        if i >= len(self.input) or not self.input[i]:
            return default
        if self.input[i] not in self._constants:
            self.fail(f"input {i} ({self.input[i]}) must be a constant")
        return self._constants[self.input[i]]

    def values(self, name: str, i: int, default: Any = None) -> Any:
        """A list that is an attribute in old operator sets and input i in new ones."""
        if name in self._attributes:
            return [int(value) for value in self._attributes[name]]
        value = self.constant(i)
        return default if value is None else [int(v) for v in np.ravel(value)]

    def new_name(self, suffix: str) -> str:
        """A name for a blob between the operators of the node."""
        name = next(filter(None, self.output), self.type)
        return f"{name}_{suffix}_{len(self.operators)}"

    def add_constant(self, array: np.ndarray, name: str) -> str:
        """Makes a blob of the init net; returns its name."""
        self.new_constants[name] = array
        return name

    def output_at(self, i: int) -> str | None:
        """The name of output i, or None if the node does not write it."""
        return self.output[i] or None if i < len(self.output) else None

    def input_at(self, i: int) -> str | None:
        """The name of input i, or None if it is left out."""
        return self.input[i] or None if i < len(self.input) else None

    def add(self, op_type: str, inputs: Any, outputs: str | Iterable[str],
            **arguments: Any) -> str:
        """Adds an operator; returns its first output."""
        outputs = [outputs] if isinstance(outputs, str) else list(outputs)
        with core.NameScope("", reset=True):
            self.operators.append(core.CreateOperator(op_type, inputs, outputs, **arguments))
        return outputs[0]

    def unwritten(self) -> list[str]:
        """The outputs that no operator writes."""
        written = {name for op in self.operators for name in op.output}
        return [name for name in self.output if name and name not in written]

    def constant_value(self, name: str) -> Any:
        """The array of a blob, or None if it is not a constant."""
        return self._constants.get(name)


def with_arguments(op_type: str, **names: tuple[str, Any]) -> Callable[[Node], None]:
    """A translation that renames attributes: caffe2=(onnx, default)."""
    def translate(node):
        arguments = {name: node.attribute(onnx_name, default)
                     for name, (onnx_name, default) in names.items()}
        node.add(op_type, node.input, node.output[:1], **arguments)

    return translate
