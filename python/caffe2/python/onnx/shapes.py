"""The shapes and types of a net's blobs, of which some dimensions may be free."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Union

import numpy as np
from onnx import TensorProto

from caffe2.proto import caffe2_pb2
from caffe2.python import workspace

# {input: (element type of onnx.TensorProto, shape)}
ValueInfo = Mapping[str, tuple[int, Sequence[Union[int, str]]]]
# {blob: array}
Values = Mapping[str, np.ndarray]

_FREE = 2  # what free dimensions are while shapes are inferred

CAFFE2_TYPES = {
    TensorProto.FLOAT: caffe2_pb2.TensorProto.FLOAT,
    TensorProto.INT32: caffe2_pb2.TensorProto.INT32,
    TensorProto.INT64: caffe2_pb2.TensorProto.INT64,
    TensorProto.BOOL: caffe2_pb2.TensorProto.BOOL,
    TensorProto.DOUBLE: caffe2_pb2.TensorProto.DOUBLE,
    TensorProto.FLOAT16: caffe2_pb2.TensorProto.FLOAT16,
    TensorProto.UINT8: caffe2_pb2.TensorProto.UINT8,
    TensorProto.INT8: caffe2_pb2.TensorProto.INT8,
}


def _reshapes_to_inputs(net, values) -> Iterator[tuple[caffe2_pb2.OperatorDef, str, list]]:
    """(Reshape, blob, shape) of those whose shape is an input: the shape of the blob, or, if the
    blob is "", the one that is given."""
    constants = {name: value.tolist() for name, value in values.items()
                 if value.ndim == 1 and value.dtype.kind == "i"}
    sources: dict[str, str] = {}  # what Shape wrote: the blob that had this shape
    for op in net.op:
        if op.type == "Reshape" and len(op.input) == 2:
            blob = op.input[1]
            if blob in sources or blob in constants:
                yield op, sources.get(blob, ""), constants.get(blob, [])
        for written in op.output:
            constants.pop(written, None)
            sources = {shape: blob for shape, blob in sources.items()
                       if written not in (shape, blob)}
        if op.type == "Shape" and not op.arg:
            sources[op.output[0]] = op.input[0]


def _infer(predict_net, inputs, values, free):
    """Shapes and types of all blobs, if the free dimensions of the inputs are `free`."""
    net = caffe2_pb2.NetDef.FromString(predict_net.SerializeToString())
    shapes = {name: [free if isinstance(dim, str) else dim for dim in shape]
              for name, (_, shape) in inputs.items()}
    kinds = {name: CAFFE2_TYPES[kind] for name, (kind, _) in inputs.items()}
    # The inference knows no values, so it needs the shapes of Reshape as arguments.
    waiting = list(_reshapes_to_inputs(net, values))
    while True:
        found, types = workspace.InferShapesAndTypes([net], shapes, blob_types=kinds)
        ready = [each for each in waiting if not each[1] or each[1] in found]
        if not ready:
            return found, types
        for op, blob, shape in ready:
            del op.input[1]
            op.arg.add(name="shape", ints=found[blob] if blob else shape)
        waiting = [each for each in waiting if each not in ready]


def infer_shapes(predict_net: caffe2_pb2.NetDef, inputs: ValueInfo, values: Values,
                 ) -> tuple[dict[str, list[int]], dict[str, int], dict[str, list]]:
    """(shapes, types of caffe2_pb2.TensorProto, described shapes) of the blobs, where they follow
    from the inputs.

    In the first, free dimensions have some number. In the last, the dimensions that depend on the
    free ones of the inputs have their name, or None if they are another number.

    Args:
      inputs: of all inputs, and of the parameters. A dimension may be a name: then it is free.
      values: {blob: array} of the parameters.

    Raises ValueError if free dimensions have several names.
    """
    names = {dim for _, shape in inputs.values() for dim in shape if isinstance(dim, str)}
    if len(names) > 1:
        raise ValueError(f"free dimensions are called {sorted(names)}; they must have one name")
    shapes, types = _infer(predict_net, inputs, values, _FREE)
    if not names:
        return shapes, types, shapes
    (name,) = names
    others, _ = _infer(predict_net, inputs, values, _FREE + 1)
    described = {blob: [a if a == b else name if (a, b) == (_FREE, _FREE + 1) else None
                        for a, b in zip(shape, others.get(blob, shape))]
                 for blob, shape in shapes.items()}
    return shapes, types, described
