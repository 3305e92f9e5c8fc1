"""Random arrays for the inputs of operators; for workspace.FillRandomNetworkInputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from caffe2.proto import caffe2_pb2

# Element types with other names in C++ than in numpy.
_TYPES = {"float": "float32", "double": "float64", "int": "int32", "int64_t": "int64",
          "uint8_t": "uint8", "uint16_t": "uint16", "int8_t": "int8"}


def random_inputs(operators: Sequence[caffe2_pb2.OperatorDef],
                  input_dims: Sequence[Sequence[Sequence[int]]],
                  input_types: Sequence[Sequence[str]]) -> Iterator[tuple[str, np.ndarray]]:
    """Yields (blob, array) for the blobs that OperatorDefs read before they write them; see
    workspace.FillRandomNetworkInputs."""
    if not len(operators) == len(input_dims) == len(input_types):
        raise RuntimeError(f"there must be one list of shapes and one of types for each of the "
                           f"{len(operators)} operators, found {len(input_dims)} and "
                           f"{len(input_types)}")
    known = set()
    for op, shapes, types in zip(operators, input_dims, input_types):
        if not len(op.input) == len(shapes) == len(types):
            raise RuntimeError(f"there must be one shape and one type for each of the inputs "
                               f"{list(op.input)} of {op.type}, found {len(shapes)} and "
                               f"{len(types)}")
        for blob, shape, kind in zip(op.input, shapes, types):
            if blob in known:
                continue
            dtype = np.dtype(_TYPES.get(kind, kind))
            values = np.random.rand(*shape)
            yield blob, (values.round() if dtype.kind in "iub" else values).astype(dtype)
        known.update(op.input)
        known.update(op.output)
