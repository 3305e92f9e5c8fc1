"""NetDefs as ONNX models (operator set 15)."""

from __future__ import annotations

import collections
import logging
from collections.abc import Mapping
from typing import NoReturn

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx import helper as onnx_helper

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python.onnx.error import Unsupported
from caffe2.python.onnx.layout import to_nchw
from caffe2.python.onnx.shapes import CAFFE2_TYPES, ValueInfo, Values, infer_shapes

log = logging.getLogger(__name__)

target_opset_version = 15

# The version of the file format that belongs to this operator set, so that old readers accept it.
_IR_VERSION = 8

_SAME_MEANING = {
    "Abs": "Abs", "Ceil": "Ceil", "Copy": "Identity", "Dropout": "Identity", "Exp": "Exp",
    "Floor": "Floor", "Log": "Log", "Max": "Max", "Mean": "Mean", "Min": "Min", "Negative": "Neg",
    "Relu": "Relu", "Sigmoid": "Sigmoid", "Softplus": "Softplus", "Softsign": "Softsign",
    "Sqrt": "Sqrt", "StopGradient": "Identity", "Sum": "Sum", "Tanh": "Tanh",
}
_BINARY = {"Add": "Add", "Sub": "Sub", "Mul": "Mul", "Div": "Div"}
_LEGACY_SAME, _LEGACY_CEIL = 2, 3
_IMAGE = ("N", "C", "H", "W")  # where the shape of images is not known


class _Operator:
    """An OperatorDef while it is translated: arguments by name, and the nodes made of it."""

    def __init__(self, op, shapes, used_names):
        self.type = op.type
        self.input, self.output = list(op.input), list(op.output)
        self.shapes = shapes
        self.nodes, self.constants = [], []
        self._arguments = {argument.name: argument for argument in op.arg}
        self._used_names = used_names

    def fail(self, why: str) -> NoReturn:
        raise Unsupported(
            f"operator {self.type} ({', '.join(self.output)}) has no counterpart in ONNX: {why}")

    def arg(self, name, default=None):
        argument = self._arguments.get(name)
        if argument is None:
            return default
        for field in ("i", "f", "s"):
            if argument.HasField(field):
                value = getattr(argument, field)
                return value.decode() if field == "s" else value
        return list(argument.ints or argument.floats or argument.strings)

    def spatial(self, name, default, count=2):
        """An argument for each spatial axis: kernel, kernels, kernel_h and kernel_w."""
        values = self.arg(name + "s")
        if values is None and self.arg(name) is not None:
            values = [self.arg(name)] * count
        if values is None and self.arg(name + "_h") is not None:
            values = [self.arg(name + "_h"), self.arg(name + "_w", default)]
        return values if values is not None else [default] * count

    def pads(self, count=2):
        if self.arg("pads") is not None:
            return self.arg("pads")
        if self.arg("pad") is not None:
            return [self.arg("pad")] * (2 * count)
        sides = ("pad_t", "pad_l", "pad_b", "pad_r")
        if not any(side in self._arguments for side in sides):
            return [0] * (2 * count)
        return [self.arg(side, 0) for side in sides]

    def rank(self, blob):
        return len(self.shape(blob))

    def shape(self, blob):
        if blob not in self.shapes:
            self.fail(f"the shape of {blob} is not known; give it in value_info")
        return self.shapes[blob]

    def new_name(self, suffix):
        name, index = f"{self.output[0]}_{suffix}", 1
        while name in self._used_names:
            name, index = f"{self.output[0]}_{suffix}_{index}", index + 1
        self._used_names.add(name)
        return name

    def node(self, op_type, inputs, outputs, **attributes):
        if isinstance(outputs, str):
            outputs = [outputs]
        attributes = {key: value for key, value in attributes.items() if value is not None}
        self.nodes.append(onnx_helper.make_node(op_type, inputs, outputs, **attributes))
        return outputs[0]

    def constant(self, values, suffix):
        name = self.new_name(suffix)
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def channel_axis(self):
        """The argument axis; default: the axis of the channels."""
        is_nchw = self.arg("order", "NCHW") == "NCHW"
        return self.arg("axis", 1 if is_nchw else self.rank(self.input[0]) - 1)


def _conv(op):
    window = _window(op)
    count = len(window["kernel_shape"])
    op.node(op.type, op.input, op.output[:1],
            output_padding=op.spatial("adj", 0, count) if op.type == "ConvTranspose" else None,
            **window, group=op.arg("group", 1), dilations=op.spatial("dilation", 1, count))


def _window(op):
    window = {"kernel_shape": op.spatial("kernel", 1)}
    count = len(window["kernel_shape"])
    window["strides"] = op.spatial("stride", 1, count)
    legacy = op.arg("legacy_pad", 0)
    if legacy == _LEGACY_SAME:
        window["auto_pad"] = "SAME_UPPER"
    else:
        window["pads"] = op.pads(count)
    return window


def _pool(op):
    kind = op.type.replace("Pool", "")
    if op.arg("global_pooling", 0):
        op.node(f"Global{kind}Pool", op.input, op.output)
        return
    attributes = _window(op)
    if op.arg("legacy_pad", 0) == _LEGACY_CEIL:
        attributes["ceil_mode"] = 1
    if kind == "Average":
        attributes["count_include_pad"] = op.arg("count_include_pad", 0)
    op.node(op.type, op.input, op.output[:1], **attributes)


def _spatial_bn(op):
    if not op.arg("is_test", 0):
        op.fail("it is in training mode (is_test=0)")
    op.node("BatchNormalization", op.input[:5], op.output[:1], epsilon=op.arg("epsilon", 1e-5))


def _fc(op):
    axis = op.arg("axis", 1)
    if axis != 1 or op.arg("axis_w", 1) != 1:
        op.fail(f"axis is {axis}, axis_w {op.arg('axis_w', 1)}, and only 1 can be expressed")
    rows = op.node("Flatten", [op.input[0]], op.new_name("rows"), axis=1)
    op.node("Gemm", [rows, *op.input[1:]], op.output, transB=int(op.type == "FC"))


def _binary(op):
    left, right = op.input
    if op.arg("broadcast", 0):
        axis = op.arg("axis", -1)
        if op.arg("axis_str"):
            axis = op.arg("order", "NCHW").index(op.arg("axis_str"))
        right_rank = op.rank(right)
        trailing = 0 if axis == -1 else op.rank(left) - axis - right_rank
        if trailing > 0:
            axes = op.constant(np.arange(right_rank, right_rank + trailing), "axes")
            right = op.node("Unsqueeze", [right, axes], op.new_name("operand"))
    op.node(_BINARY[op.type], [left, right], op.output)


def _softmax(op):
    axis, rank = op.arg("axis", 1), op.rank(op.input[0])
    axis = axis + rank if axis < 0 else axis
    if axis == rank - 1:
        op.node("Softmax", op.input, op.output, axis=axis)
        return
    # In Caffe2 all axes from `axis` on form one row.
    rows = op.node("Flatten", op.input, op.new_name("rows"), axis=axis)
    rows = op.node("Softmax", [rows], op.new_name("softmax"), axis=1)
    shape = op.node("Shape", op.input, op.new_name("shape"))
    op.node("Reshape", [rows, shape], op.output)


def _matmul(op):
    matrices = []
    for blob, side in zip(op.input, "ab"):
        if op.rank(blob) != 2 or op.arg(f"axis_{side}", 1) != 1:
            op.fail(f"{blob} has {op.rank(blob)} dimensions, axis_{side} is "
                    f"{op.arg(f'axis_{side}', 1)}; only matrices can be expressed")
        if op.arg(f"trans_{side}", 0):
            blob = op.node("Transpose", [blob], op.new_name(f"transposed_{side}"), perm=[1, 0])
        matrices.append(blob)
    op.node("MatMul", matrices, op.output)


def _instance_norm(op):
    op.node("InstanceNormalization", op.input, op.output[:1], epsilon=op.arg("epsilon", 1e-5))


def _concat(op):
    if op.arg("add_axis", 0):
        op.fail("add_axis is not supported")
    op.node("Concat", op.input, op.output[:1], axis=op.channel_axis())


def _reshape(op):
    shape = op.input[1] if len(op.input) > 1 else op.constant(
        np.array(op.arg("shape"), np.int64), "new_shape")
    op.node("Reshape", [op.input[0], shape], op.output[:1])


def _shape(op):
    axes = op.arg("axes")
    if not axes:
        op.node("Shape", op.input, op.output)
        return
    shape = op.node("Shape", op.input, op.new_name("all"))
    op.node("Gather", [shape, op.constant(np.array(axes, np.int64), "axes")], op.output, axis=0)


def _channel_shuffle(op):
    groups = op.arg("group", 1)
    channels = op.shape(op.input[0])[1]
    spatial = op.shape(op.input[0])[2:]
    split = op.constant(np.array([0, groups, channels // groups, *spatial], np.int64), "split")
    merged = op.constant(np.array([0, channels, *spatial], np.int64), "merged")
    x = op.node("Reshape", [op.input[0], split], op.new_name("grouped"))
    perm = [0, 2, 1, *range(3, 3 + len(spatial))]
    x = op.node("Transpose", [x], op.new_name("swapped"), perm=perm)
    op.node("Reshape", [x, merged], op.output)


def _pad_image(op):
    top, left, bottom, right = op.pads()
    pads = op.constant(np.array([0, 0, top, left, 0, 0, bottom, right], np.int64), "pads")
    value = op.constant(np.float32(op.arg("value", 0.0)), "value")
    op.node("Pad", [op.input[0], pads, value], op.output, mode=op.arg("mode", "constant"))


def _clip(op):
    limits = np.finfo(np.float32)
    low = op.constant(np.float32(op.arg("min", limits.min)), "min")
    high = op.constant(np.float32(op.arg("max", limits.max)), "max")
    op.node("Clip", [op.input[0], low, high], op.output)


def _resize_nearest(op):
    scales = op.constant(
        np.float32([1, 1, op.arg("height_scale", 1.0), op.arg("width_scale", 1.0)]), "scales")
    op.node("Resize", [op.input[0], "", scales], op.output, mode="nearest",
            coordinate_transformation_mode="asymmetric", nearest_mode="floor")


def _scale(op):
    factor = op.constant(np.float32(op.arg("scale", 1.0)), "factor")
    op.node("Mul", [op.input[0], factor], op.output)


def _prelu(op):
    slope, rank = op.input[1], op.rank(op.input[0])
    if rank > 2:
        axes = op.constant(np.arange(1, rank - 1), "axes")
        slope = op.node("Unsqueeze", [slope, axes], op.new_name("slope"))
    op.node("PRelu", [op.input[0], slope], op.output)


def _with_axes(op):
    axes = op.constant(np.array(op.arg("dims"), np.int64), "axes")
    op.node("Unsqueeze" if op.type == "ExpandDims" else "Squeeze", [op.input[0], axes], op.output)


def _split(op):
    if len(op.input) > 1 or op.arg("add_axis", 0):
        op.fail("neither lengths as an input nor add_axis is supported")
    sizes = op.arg("split")
    inputs = [op.input[0]] + ([op.constant(np.array(sizes, np.int64), "sizes")] if sizes else [])
    op.node("Split", inputs, op.output, axis=op.channel_axis())


def _slice(op):
    if len(op.input) > 1:
        op.fail("its bounds are inputs")
    starts, ends = op.arg("starts"), op.arg("ends")
    # In Caffe2, -1 is the end, -2 one before it; in ONNX -1 is one before the end.
    ends = [np.iinfo(np.int64).max if end == -1 else end + (end < 0) for end in ends]
    starts = [start + (start < 0) for start in starts]
    bounds = [op.constant(np.array(values, np.int64), name)
              for name, values in (("starts", starts), ("ends", ends))]
    op.node("Slice", [op.input[0], *bounds], op.output)


def _with_attributes(op_type, **names):
    """A translation that keeps one input and renames arguments: onnx=(caffe2, default)."""
    def translate(op):
        op.node(op_type, op.input, op.output[:1], **{
            name: op.arg(caffe2_name, default)
            for name, (caffe2_name, default) in names.items()})

    return translate


def _to_channels_first(op):
    last = len(op.shapes.get(op.input[0], _IMAGE)) - 1
    op.node("Transpose", op.input, op.output, perm=[0, last, *range(1, last)])


def _to_channels_last(op):
    last = len(op.shapes.get(op.input[0], _IMAGE)) - 1
    op.node("Transpose", op.input, op.output, perm=[0, *range(2, last + 1), 1])


_TRANSLATORS = {
    **{name: _with_attributes(onnx_name) for name, onnx_name in _SAME_MEANING.items()},
    **{name: _binary for name in _BINARY},
    "AveragePool": _pool, "ChannelShuffle": _channel_shuffle, "Clip": _clip, "Concat": _concat,
    "Conv": _conv, "ConvTranspose": _conv, "ExpandDims": _with_axes, "FC": _fc,
    "FCTransposed": _fc, "InstanceNorm": _instance_norm, "MatMul": _matmul,
    "MaxPool": _pool, "NCHW2NHWC": _to_channels_last,
    "NHWC2NCHW": _to_channels_first, "PRelu": _prelu, "PadImage": _pad_image,
    "Reshape": _reshape, "ResizeNearest": _resize_nearest, "Scale": _scale, "Shape": _shape,
    "Slice": _slice, "Softmax": _softmax, "SpatialBN": _spatial_bn, "Split": _split,
    "Squeeze": _with_axes,
    "Elu": _with_attributes("Elu", alpha=("alpha", 1.0)),
    "Flatten": _with_attributes("Flatten", axis=("axis", 1)),
    "LRN": _with_attributes("LRN", size=("size", None), alpha=("alpha", None),
                            beta=("beta", None), bias=("bias", 1.0)),
    "LeakyRelu": _with_attributes("LeakyRelu", alpha=("alpha", 0.01)),
    "Selu": _with_attributes("Selu", alpha=("alpha", 1.6732632423543772),
                             gamma=("scale", 1.0507009873554805)),
    "Transpose": _with_attributes("Transpose", perm=("axes", None)),
}


def _initial_values(init_net):
    """{blob: array} of the blobs that the init net makes, or of a dict of them."""
    if init_net is None or isinstance(init_net, Mapping):
        return dict(init_net or {})
    ws = C.Workspace()
    ws.run(init_net)
    return {name: ws.fetch_blob(name) for op in init_net.op for name in op.output}


_ONNX_TYPES = {caffe2: kind for kind, caffe2 in CAFFE2_TYPES.items()}


def caffe2_net_to_onnx_graph(predict_net: caffe2_pb2.NetDef,
                             init_net: caffe2_pb2.NetDef | Values | None = None,
                             value_info: ValueInfo | None = None) -> onnx.GraphProto:
    """An onnx.GraphProto that computes what `predict_net` does in test mode.

    Args:
      predict_net: a NetDef with operators of _TRANSLATORS, which may work in place, and on NHWC
        images.
      init_net: a NetDef that makes the parameters, or {blob: array} of them. They become
        initializers.
      value_info: {input: (element type of onnx.TensorProto, shape)}, at least for the inputs that
        `init_net` does not make. A dimension may be a name: then it is free, like the size of
        a batch. All free dimensions have one name and one size.

    Raises ValueError for inputs without value_info, and Unsupported, with operator and reason, for
    an operator that ONNX cannot express.
    """
    predict_net, initial = to_nchw(predict_net, _initial_values(init_net))
    value_info = dict(value_info or {})
    missing = set(predict_net.external_input) - set(initial) - set(value_info)
    if missing:
        raise ValueError(f"no value_info for the inputs {sorted(missing)}")
    known = dict(value_info)
    for name, array in initial.items():
        known.setdefault(name, (onnx_helper.np_dtype_to_tensor_dtype(array.dtype), array.shape))
    values = {name: array for name, array in initial.items() if name not in value_info}
    shapes, types, described = infer_shapes(predict_net, known, values)

    used_names = {name for op in predict_net.op for name in (*op.input, *op.output)} | set(known)
    # blob -> its present name in the graph, where each name is written once
    current: dict[str, str] = {}
    versions: collections.Counter[str] = collections.Counter()
    written = set(known)
    nodes, constants = [], []
    for op in predict_net.op:
        copy = caffe2_pb2.OperatorDef.FromString(op.SerializeToString())
        copy.input[:] = [current.get(name, name) for name in op.input]
        for i, name in enumerate(op.output):
            renamed = name
            while renamed in written:
                versions[name] += 1
                renamed = f"{name}_{versions[name]}"
            written.add(renamed)
            current[name] = copy.output[i] = renamed
            if name in shapes:
                shapes.setdefault(renamed, shapes[name])
        translate = _TRANSLATORS.get(op.type)
        operator = _Operator(copy, shapes, used_names)
        if translate is None:
            operator.fail("it is not among those that can be translated")
        translate(operator)
        nodes += operator.nodes
        constants += operator.constants

    def describe(name, renamed):
        if name not in described:
            raise Unsupported(f"the shape of the output {name} does not follow from the inputs")
        shape = described[name]
        kind = _ONNX_TYPES.get(types.get(name), TensorProto.FLOAT)
        return onnx_helper.make_tensor_value_info(renamed, kind, shape)

    # Exported init nets may also make example inputs.
    inputs = [onnx_helper.make_tensor_value_info(name, *info) for name, info in value_info.items()]
    made = {name for node in nodes for name in node.output} | set(known)
    outputs = []
    for name in predict_net.external_output:
        if current.get(name, name) in made:
            outputs.append(describe(name, current.get(name, name)))
        else:
            log.warning("ONNX has no counterpart of the output %s, which is left out", name)
    read = {name for op in predict_net.op for name in op.input}
    initializers = [numpy_helper.from_array(array, name) for name, array in values.items()
                    if name in read]
    return onnx_helper.make_graph(
        nodes, predict_net.name or "net", inputs, outputs, [*initializers, *constants])


def caffe2_init_net_to_initializer(init_net: caffe2_pb2.NetDef) -> list[TensorProto]:
    """The onnx.TensorProtos of the blobs that an init net makes."""
    return [numpy_helper.from_array(array, name)
            for name, array in _initial_values(init_net).items()]


def caffe2_net_to_onnx_model(predict_net: caffe2_pb2.NetDef,
                             init_net: caffe2_pb2.NetDef | Values | None = None,
                             value_info: ValueInfo | None = None) -> onnx.ModelProto:
    """The graph of caffe2_net_to_onnx_graph as a model that passes onnx.checker."""
    model = onnx_helper.make_model(
        caffe2_net_to_onnx_graph(predict_net, init_net, value_info),
        opset_imports=[onnx_helper.make_opsetid("", target_opset_version)],
        producer_name="caffe2")
    model.ir_version = _IR_VERSION
    onnx.checker.check_model(model)
    return model


class Caffe2Frontend:
    """The functions of this module under the name of Caffe2's class."""

    target_opset_version = target_opset_version
    caffe2_net_to_onnx_graph = staticmethod(caffe2_net_to_onnx_graph)
    caffe2_init_net_to_initializer = staticmethod(caffe2_init_net_to_initializer)
    caffe2_net_to_onnx_model = staticmethod(caffe2_net_to_onnx_model)
