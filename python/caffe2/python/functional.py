"""Operators as functions of arrays: ``y = Functional.Relu(x)[0]``."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from caffe2.python import core, workspace
from caffe2.python._core.operator_types import CheckOperatorType

OpSchema = workspace.C.OpSchema

_UNBOUNDED = 2 ** 31 - 1


def namedtupledict(typename: str, field_names: Sequence[str], *args: Any,
                   **kwargs: Any) -> type[Any]:
    """A namedtuple class whose fields can also be indexed by name: ``values["output_0"]``. Names
    that are not identifiers get other attribute names, but still work as an index."""
    places = {name: i for i, name in enumerate(field_names)}
    kwargs.setdefault("rename", True)
    base: Any = namedtuple(typename, field_names, *args, **kwargs)  # type: ignore[misc]

    class NamedTupleDict(base):
        __slots__ = ()

        def __getitem__(self, key):
            return super().__getitem__(places[key] if isinstance(key, str) else key)

    NamedTupleDict.__name__ = typename
    return NamedTupleDict


def _output_names(op_type, schema, inputs, num_output):
    """Names of all outputs; outputs that must be in place have the names of their inputs."""
    if num_output is None:
        num_output = schema.CalculateOutput(len(inputs))
    if num_output < 0:
        num_output = schema.max_output
    if num_output >= _UNBOUNDED:
        raise ValueError(f"{op_type} may have any number of outputs: num_output must say how many")
    if not schema.min_output <= num_output <= schema.max_output:
        raise ValueError(f"{op_type} has {schema.min_output} to {schema.max_output} outputs, "
                         f"not {num_output}")
    outputs = [f"output_{i}" for i in range(num_output)]
    for i, name in enumerate(inputs):
        for j in range(num_output):
            if schema.inplace_enforced(i, j):
                outputs[j] = name
    return outputs


class _Functional:
    """Any operator is a method that runs it, in a workspace of its own.

    Args of the methods: the inputs (arrays), the operator's arguments, `device_option`, and
    `num_output` for operators with a variable number of outputs. They return a named tuple of
    arrays, "output_0", ... Raise ValueError for a wrong number of inputs or outputs.
    """

    def __getattr__(self, op_type):
        schema = OpSchema.get(op_type)
        if schema is None:
            CheckOperatorType(op_type)
            raise AttributeError(f"operator {op_type} has no schema")

        def run(*inputs, num_output=None, device_option=None, **arguments):
            if not schema.min_input <= len(inputs) <= schema.max_input:
                raise ValueError(f"{op_type} has {schema.min_input} to {schema.max_input} inputs, "
                                 f"not {len(inputs)}")
            names = [f"input_{i}" for i in range(len(inputs))]
            outputs = _output_names(op_type, schema, names, num_output)
            op = core.CreateOperator(
                op_type, names, outputs, device_option=device_option, **arguments)
            ws = workspace.C.Workspace()
            for name, value in zip(names, inputs):
                ws.feed_blob(name, value, device_option)
            ws.run(op)
            return namedtupledict("output", outputs)(*map(ws.fetch_blob, outputs))

        return run


Functional = _Functional()
