"""The layers of a model: shapes, parameters, operations; and a picture of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python._core import net_graph
from caffe2.python.convert.model import Model, argument, array_of, infer_shapes

# The inputs of normalizations that training replaces by running means and variances.
_RUNNING = {
    **dict.fromkeys(("SpatialBN", "SpatialBNRelu", "SpatialBNSumRelu"), (3, 4)),
    "SpatialBNFinalize": (5, 6),
}
# Operators that only copy elements or make constants, beside those that end in Fill.
_MOVERS = frozenset(
    """Alias AliasWithName BatchGather BatchPermutation BatchToSpace ChannelShuffle Concat Copy
    CopyCPUToGPU CopyFromCPUInput CopyGPUToCPU CopyOnDeviceLike DepthConcat DepthSplit
    EnsureCPUOutput EnsureDense Expand ExpandDims Flatten FlattenToVec Gather Int8ChannelShuffle
    Int8Flatten Int8Reshape Int8ResizeNearest Int8Slice Int8Transpose MergeDim NCHW2NHWC NHWC2NCHW
    NumpyTile PadImage PrependDim Reshape ResizeLike ResizeNearest Shape Size Slice SpaceToBatch
    Split Squeeze Tile Transpose UpsampleNearest""".split()
)


@dataclasses.dataclass
class Layer:
    """An operator of the net.

    shape: of the first output; None if it is not known.
    parameters: the number of elements of parameters that no earlier operator reads.
    running_statistics: the same of running means and variances, which are no parameters.
    flops: floating-point operations, a multiply-add counts 2; 0 if the operator only moves or fills
      data; None if they are not known.
    """

    type: str
    output: str
    shape: list[int] | None
    parameters: int
    running_statistics: int
    flops: int | None


def _only_moves(op):
    if op.type == "Dropout":
        is_test = argument(op, "is_test")
        return is_test is not None and is_test.i != 0
    return op.type in _MOVERS or op.type.endswith("Fill")


def _flops(op, shapes):
    if _only_moves(op):
        return 0
    schema = C.OpSchema.get(op.type)
    if schema is None or any(name not in shapes for name in op.input):
        return None
    inputs = [
        caffe2_pb2.TensorShape(
            dims=shapes[name], data_type=caffe2_pb2.TensorProto.FLOAT
        ).SerializeToString()
        for name in op.input
    ]
    try:
        return schema._infer_flops(op.SerializeToString(), inputs)
    except RuntimeError:
        return None  # an operator on other types than float


def layers_of(model: Model, batch: int = 1) -> list[Layer]:
    """The layers for batches of `batch` images. Raises ConvertError for a net that cannot work on
    the shapes of its inputs."""
    shapes = infer_shapes(model, batch)
    layers: list[Layer] = []
    counted: set[str] = set()
    for op in model.net.op:
        new = {name for name in op.input if name in model.values} - counted
        counted |= new
        output = op.output[0] if op.output else ""
        running = {op.input[i] for i in _RUNNING.get(op.type, ()) if i < len(op.input)}
        layers.append(
            Layer(
                op.type,
                output,
                shapes.get(output),
                sum(array_of(model.values[name]).size for name in new - running),
                sum(array_of(model.values[name]).size for name in new & running),
                _flops(op, shapes),
            )
        )
    return layers


def draw(model: Model, layers: Sequence[Layer]) -> str:
    """The net as SVG: operators with their shapes, without parameters."""
    net = caffe2_pb2.NetDef.FromString(model.net.SerializeToString())
    for op in net.op:
        op.input[:] = [name for name in op.input if name not in model.values]
        del op.output[1:]

    def operator(op, index):
        shape = layers[index].shape
        text = op.type if shape is None else f"{op.type}\n{' x '.join(map(str, shape))}"
        return f"{index} {op.type}", {**net_graph.OP_STYLE, "label": text}

    graph = net_graph.GetPydotGraph(net, rankdir="TB", op_node_producer=operator)
    return graph.create_svg().decode()
