"""Turns ONNX models into NetDefs and runs them. Supports operator sets 6 to 28, and the operators
of convolutional networks (`_TRANSLATORS`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend import base

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python import core
from caffe2.python.onnx import broadcasting
from caffe2.python.onnx.backend_rep import Caffe2Rep
from caffe2.python.onnx.error import Unsupported
from caffe2.python.onnx.helper import Inputs, fill_operator, named_outputs
from caffe2.python.onnx.shapes import CAFFE2_TYPES

_OLDEST_OPSET, _NEWEST_OPSET = 6, 28

_SAME_MEANING = {
    "Abs": "Abs", "Add": "Add", "And": "And", "Ceil": "Ceil", "Div": "Div", "Equal": "EQ",
    "Exp": "Exp", "Floor": "Floor", "Identity": "Copy", "Log": "Log", "Mul": "Mul",
    "Neg": "Negative", "Not": "Not", "Or": "Or", "Pow": "Pow", "Relu": "Relu",
    "Sigmoid": "Sigmoid", "Softplus": "Softplus", "Softsign": "Softsign", "Sqrt": "Sqrt",
    "Sub": "Sub", "Tanh": "Tanh",
}


def _array_of(tensor, name):
    """The array of a TensorProto; raises Unsupported, which names it."""
    try:
        return numpy_helper.to_array(tensor)
    except KeyError as error:
        raise Unsupported(f"tensor {name}: {tensor.data_type} is no type of elements") from error
    except (ValueError, TypeError, OverflowError) as error:
        shape = list(tensor.dims)
        raise Unsupported(f"tensor {name} {shape} is damaged: {error}") from error


class _Node:
    """A NodeProto while it is translated."""

    def __init__(self, node, opset, constants, shapes):
        self.type, self.opset = node.op_type, opset
        self.input, self.output = list(node.input), list(node.output)
        while self.input and not self.input[-1]:
            self.input.pop()
        self.operators = []
        self._attributes = {
            attribute.name: onnx.helper.get_attribute_value(attribute)
            for attribute in node.attribute}
        self._constants = constants
        self._shapes = shapes

    def fail(self, why):
        raise Unsupported(f"ONNX node {self.type} ({', '.join(self.output)}): {why}")

    def attribute(self, name, default=None):
        value = self._attributes.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def known_rank(self, i):
        """The number of dimensions of input i, or None."""
        shape = self.shape_of(self.input[i])
        return None if shape is None else len(shape)

    def shape_of(self, name):
        """The shape of a blob (broadcasting.Shape)."""
        if name in self._constants:
            return self._constants[name].shape
        return self._shapes.get(name)

    def rank(self, i):
        """known_rank; raises Unsupported if it is not known."""
        rank = self.known_rank(i)
        if rank is None:
            self.fail(f"the number of dimensions of input {i} ({self.input[i]}) is not known")
        return rank

    def axis(self, axis, rank=None):
        """An axis, which may be counted from the end, of input 0 or of `rank` dimensions."""
        if axis >= 0:
            return axis
        return axis + (self.rank(0) if rank is None else rank)

    def constant(self, i, default=None):
        """The value of input i, which must be an initializer or a Constant."""
        if i >= len(self.input) or not self.input[i]:
            return default
        if self.input[i] not in self._constants:
            self.fail(f"input {i} ({self.input[i]}) must be a constant")
        return self._constants[self.input[i]]

    def values(self, name, i, default=None):
        """A list that is an attribute in old operator sets and input i in new ones."""
        if name in self._attributes:
            return [int(value) for value in self._attributes[name]]
        value = self.constant(i)
        return default if value is None else [int(v) for v in np.ravel(value)]

    def new_name(self, suffix):
        return f"{self.output[0]}_{suffix}_{len(self.operators)}"

    def add(self, op_type, inputs, outputs, **arguments):
        """Adds an operator; returns its first output."""
        outputs = [outputs] if isinstance(outputs, str) else list(outputs)
        with core.NameScope("", reset=True):
            self.operators.append(core.CreateOperator(op_type, inputs, outputs, **arguments))
        return outputs[0]

    def constant_value(self, name):
        return self._constants.get(name)


def _window(node, default_kernel=None):
    """Arguments of convolution and pooling."""
    kernel = node.attribute("kernel_shape", default_kernel)
    if not kernel:
        node.fail("kernel_shape is missing")
    arguments = {"kernels": list(kernel), "order": "NCHW"}
    for name in ("strides", "dilations"):
        if node.attribute(name):
            arguments[name] = list(node.attribute(name))
    auto_pad = node.attribute("auto_pad", "NOTSET")
    if auto_pad == "SAME_UPPER":
        arguments["legacy_pad"] = 2
    elif auto_pad not in ("NOTSET", "VALID"):
        node.fail(f"auto_pad {auto_pad} is not supported: export the model with pads")
    elif node.attribute("pads") and auto_pad == "NOTSET":
        arguments["pads"] = list(node.attribute("pads"))
    return arguments


def _conv(node):
    weight = node.constant_value(node.input[1])
    if node.type == "ConvTranspose":
        for name, plain in (("auto_pad", ("NOTSET", "VALID")), ("dilations", (None, [1, 1]))):
            if node.attribute(name, plain[0]) not in plain:
                node.fail(f"{name} {node.attribute(name)} is not supported")
    arguments = _window(node, None if weight is None else weight.shape[2:])
    arguments["group"] = node.attribute("group", 1)
    if node.type == "ConvTranspose":
        if node.attribute("output_shape"):
            node.fail("output_shape is not supported: export the model with pads and "
                      "output_padding")
        if node.attribute("output_padding"):
            arguments["adjs"] = list(node.attribute("output_padding"))
    node.add(node.type, node.input, node.output, **arguments)


def _pool(node):
    arguments = _window(node)
    if len(node.output) > 1:
        node.fail("the output of indices is not supported")
    if any(dilation != 1 for dilation in arguments.pop("dilations", ())):
        node.fail(f"dilations {node.attribute('dilations')} of pooling are not supported")
    if node.attribute("ceil_mode", 0):
        pads = arguments.pop("pads", [0, 0, 0, 0])
        count = len(pads) // 2
        if pads[:count] != pads[count:] or len(set(pads[:count])) != 1:
            node.fail(f"ceil_mode with different pads {pads} is not supported")
        arguments.update(legacy_pad=3, pad=pads[0])
    if node.type == "AveragePool" and node.attribute("count_include_pad", 0):
        arguments["count_include_pad"] = 1
    node.add(node.type, node.input, node.output, **arguments)


def _global_pool(node):
    node.add(node.type.replace("Global", ""), node.input, node.output, global_pooling=1,
             order="NCHW")


def _batch_normalization(node):
    if node.attribute("training_mode", 0):
        node.fail("training_mode is not supported: export the model for inference")
    if not node.attribute("spatial", 1):
        node.fail("spatial is 0, which is not supported: statistics of each pixel have no operator "
                  "here")
    node.add("SpatialBN", node.input, node.output[:1], epsilon=node.attribute("epsilon", 1e-5),
             is_test=1, order="NCHW")


def _gemm(node):
    alpha, beta = node.attribute("alpha", 1.0), node.attribute("beta", 1.0)
    trans_a, trans_b = node.attribute("transA", 0), node.attribute("transB", 0)
    bias = node.constant_value(node.input[2]) if len(node.input) > 2 else None
    if alpha == beta == 1 and not trans_a and bias is not None and bias.ndim == 1 \
            and bias.size > 1:
        node.add("FC" if trans_b else "FCTransposed", node.input, node.output)
        return
    x = node.add("MatMul", node.input[:2], node.new_name("product"), trans_a=trans_a,
                 trans_b=trans_b)
    x = node.add("Scale", [x], node.new_name("scaled"), scale=float(alpha))
    if len(node.input) > 2:
        bias = node.add("Scale", [node.input[2]], node.new_name("bias"), scale=float(beta))
        node.add("Add", [x, bias], node.output)
    else:
        node.add("Copy", [x], node.output)


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


def _matmul(node):
    if node.known_rank(0) == node.known_rank(1) == 2:
        node.add("MatMul", node.input, node.output)
    else:
        node.add("BatchMatMul", node.input, node.output, broadcast=1)


def _shape(node):
    if node.attribute("start", 0) or node.attribute("end") is not None:
        node.fail("start and end are not supported")
    node.add("Shape", node.input, node.output)


def _clip(node):
    arguments = {}
    for i, name in ((1, "min"), (2, "max")):
        limit = node.attribute(name) if node.opset < 11 else node.constant(i)
        if limit is not None:
            arguments[name] = float(limit)
    node.add("Clip", node.input[:1], node.output, **arguments)


def _reshape(node):
    unused = node.new_name("old_shape")
    sizes = node.constant_value((node.input + [""])[1])
    if node.attribute("allowzero", 0) and (sizes is None or 0 in sizes):
        node.fail("allowzero is not supported: a 0 in a shape copies the axis of the input here")
    known = node.attribute("shape") or sizes is not None
    shape = node.values("shape", 1) if known else None
    if shape is not None:
        node.add("Reshape", node.input[:1], [node.output[0], unused], shape=shape)
    else:
        node.add("Reshape", node.input, [node.output[0], unused])


def _axes(node):
    axes = node.values("axes", 1)
    if not axes:
        node.fail("axes are missing")
    if min(axes) < 0:
        rank = node.rank(0) + (len(axes) if node.type == "Unsqueeze" else 0)
        axes = [node.axis(axis, rank) for axis in axes]
    node.add("ExpandDims" if node.type == "Unsqueeze" else "Squeeze", node.input[:1], node.output,
             dims=axes)


def _slice(node):
    starts, ends = node.values("starts", 1), node.values("ends", 2)
    axes = node.values("axes", 3, list(range(len(starts))))
    if any(step != 1 for step in node.values("steps", 4, [1])):
        node.fail("steps other than 1 are not supported")
    axes = [node.axis(axis) for axis in axes]
    rank = node.known_rank(0) or max(axes) + 1
    if not 0 <= min(axes) <= max(axes) < rank:
        node.fail(f"its axes are {axes}, but its input has {rank} dimensions")
    all_starts, all_ends = [0] * rank, [-1] * rank
    for axis, start, end in zip(axes, starts, ends):
        # In Caffe2, -1 is the end and -2 one before it.
        all_starts[axis] = start - (start < 0)
        all_ends[axis] = -1 if end >= np.iinfo(np.int32).max else end - (end < 0)
    node.add("Slice", node.input[:1], node.output, starts=all_starts, ends=all_ends)


def _split(node):
    arguments = {"axis": node.attribute("axis", 0)}
    sizes = node.values("split", 1)
    if sizes:
        arguments["split"] = sizes
    node.add("Split", node.input[:1], node.output, **arguments)


def _pad(node):
    pads = node.values("pads", 1)
    value = node.attribute("value", 0.0) if node.opset < 11 else node.constant(2, 0.0)
    axes = node.constant(3)
    if axes is not None and len(pads) == 2 * len(axes):
        given, pads = pads, [0] * (2 * node.rank(0))
        for i, axis in enumerate(axes):
            axis = node.axis(int(axis))
            pads[axis], pads[axis + node.rank(0)] = given[i], given[i + len(axes)]
    if len(pads) != 8 or any(pads[:2]) or any(pads[4:6]):
        node.fail(f"pads {pads} are not supported: only height and width of images can be padded")
    top, left, bottom, right = pads[2], pads[3], pads[6], pads[7]
    node.add("PadImage", node.input[:1], node.output, pad_t=top, pad_l=left, pad_b=bottom,
             pad_r=right, mode=node.attribute("mode", "constant"), value=float(value))


def _resize(node):
    if node.attribute("mode", "nearest") != "nearest":
        node.fail(f"mode {node.attribute('mode')} is not supported, only nearest")
    if node.type == "Upsample":
        scales = node.attribute("scales")
        scales = node.constant(1) if scales is None else scales
    else:
        scales = node.constant(1 if node.opset < 11 else 2)
        rounding = (node.attribute("coordinate_transformation_mode", "half_pixel"),
                    node.attribute("nearest_mode", "round_prefer_floor"))
        if node.opset >= 11 and rounding != ("asymmetric", "floor"):
            node.fail(f"coordinate_transformation_mode {rounding[0]} with nearest_mode "
                      f"{rounding[1]} is not supported, only asymmetric with floor")
    if scales is None or len(scales) != 4 or scales[0] != 1 or scales[1] != 1:
        node.fail("its scales are not supported: only height and width of images can be scaled, by "
                  "constant factors")
    node.add("ResizeNearest", node.input[:1], node.output, order="NCHW",
             height_scale=float(scales[2]), width_scale=float(scales[3]))


def _reduce(node):
    arguments = {"keepdims": node.attribute("keepdims", 1)}
    axes = node.values("axes", 1)
    if not axes and node.attribute("noop_with_empty_axes", 0):
        node.add("Copy", node.input[:1], node.output)
        return
    if axes:
        arguments["axes"] = axes
    node.add(node.type, node.input[:1], node.output, **arguments)


def _cast(node):
    kind = node.attribute("to")
    if kind not in CAFFE2_TYPES:
        node.fail(f"element type {kind} is not supported")
    node.add("Cast", node.input, node.output, to=CAFFE2_TYPES[kind])


def _reciprocal(node):
    node.add("Pow", node.input, node.output, exponent=-1.0)


def _prelu(node):
    # The slope is one row here; in ONNX [1], [C, 1, 1] or, before operator set 7, [C].
    value, rank, slope_rank = (
        node.constant_value(node.input[1]), node.known_rank(0), node.known_rank(1))
    if value is not None and value.size == 1:
        fits = True
    elif node.opset < 7:
        fits = slope_rank in (None, 1)
    elif rank is None or slope_rank is None:
        fits = value is None or value.size == value.shape[0]
    else:
        channels = slope_rank - rank + 1  # the slope's dimension of the channels
        fits = channels == 0 if value is None else (
            0 <= channels < slope_rank and value.size == value.shape[channels])
    if not fits:
        node.fail("its slope is not supported: it is neither one for all nor one for each channel")
    slope = node.new_name("slope")
    node.add("Reshape", [node.input[1]], [slope, node.new_name("old_shape")], shape=[-1])
    node.add("PRelu", [node.input[0], slope], node.output, order="NCHW")


def _constant_of_shape(node):
    value = node.attribute("value")
    value = np.zeros(1, np.float32) if value is None else _array_of(value, node.output[0])
    shape = [int(size) for size in node.constant(0)]
    node.operators.append(fill_operator(np.full(shape, value[0], value.dtype), node.output[0]))


def _with_arguments(op_type, **names):
    """A translation that renames attributes: caffe2=(onnx, default)."""
    def translate(node):
        arguments = {name: node.attribute(onnx_name, default)
                     for name, (onnx_name, default) in names.items()}
        node.add(op_type, node.input, node.output[:1], **arguments)

    return translate


def _same_meaning(node):
    arguments = {}
    if node.attribute("broadcast", 0):  # before operator set 7, which broadcasts as numpy does
        arguments = {"broadcast": 1, "axis": node.attribute("axis", -1)}
    node.add(_SAME_MEANING[node.type], node.input, node.output[:1], **arguments)


def _dropout(node):
    if len(node.input) > 2 and node.constant(2):
        node.fail("training_mode is not supported: export the model for inference")
    node.add("Copy", node.input[:1], node.output[:1])


def _gather(node):
    node.add("Gather", node.input, node.output, axis=node.axis(node.attribute("axis", 0)))


def _concat(node):
    node.add("Concat", node.input, [node.output[0], node.new_name("lengths")],
             axis=node.attribute("axis", 1))


_TRANSLATORS = {
    **dict.fromkeys(_SAME_MEANING, _same_meaning),
    **dict.fromkeys(("Max", "Mean", "Min", "Sum"), broadcasting.translate),
    "AveragePool": _pool, "BatchNormalization": _batch_normalization, "Cast": _cast, "Clip": _clip,
    "Concat": _concat, "ConstantOfShape": _constant_of_shape, "Conv": _conv,
    "ConvTranspose": _conv, "Dropout": _dropout, "Gemm": _gemm,
    "GlobalAveragePool": _global_pool, "GlobalMaxPool": _global_pool, "MatMul": _matmul,
    "MaxPool": _pool, "PRelu": _prelu, "Pad": _pad, "Reciprocal": _reciprocal,
    "ReduceMean": _reduce, "ReduceSum": _reduce, "Reshape": _reshape, "Resize": _resize,
    "Shape": _shape, "Slice": _slice,
    "Softmax": _softmax, "Split": _split, "Squeeze": _axes, "Unsqueeze": _axes,
    "Upsample": _resize,
    "Elu": _with_arguments("Elu", alpha=("alpha", 1.0)),
    "Flatten": _with_arguments("Flatten", axis=("axis", 1)),
    "Gather": _gather,
    "InstanceNormalization": _with_arguments("InstanceNorm", epsilon=("epsilon", 1e-5)),
    "LRN": _with_arguments("LRN", size=("size", None), alpha=("alpha", 1e-4),
                           beta=("beta", 0.75), bias=("bias", 1.0)),
    "LeakyRelu": _with_arguments("LeakyRelu", alpha=("alpha", 0.01)),
    "Selu": _with_arguments("Selu", alpha=("alpha", 1.6732632423543772),
                            scale=("gamma", 1.0507009873554805)),
    "Transpose": _with_arguments("Transpose", axes=("perm", None)),
}


def _shapes(model):
    """{blob: broadcasting.Shape} of the blobs whose number of dimensions ONNX infers."""
    inferred = onnx.shape_inference.infer_shapes(model).graph
    values = [*inferred.input, *inferred.value_info, *inferred.output]
    shapes = {
        value.name: [dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None
                     for dim in value.type.tensor_type.shape.dim]
        for value in values if value.type.tensor_type.HasField("shape")}
    shapes.update({tensor.name: list(tensor.dims) for tensor in inferred.initializer})
    return shapes


def _constant_of(node):
    value = onnx.helper.get_attribute_value(node.attribute[0])
    if isinstance(value, onnx.TensorProto):
        return _array_of(value, node.output[0])
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _place(nets, device):
    """Puts nets on "CPU", "CUDA" or "CUDA:1"."""
    kind, _, number = str(device).partition(":")
    for net in nets if kind != "CPU" else ():
        net.device_option.device_type = caffe2_pb2.DeviceType.Value(kind)
        net.device_option.device_id = int(number or 0)


def _translate_node(node, opset, constants, shapes):
    """The OperatorDefs of one node; raises Unsupported that names it."""
    translated = _Node(node, opset, constants, shapes)
    if node.op_type not in _TRANSLATORS or node.domain not in ("", "ai.onnx"):
        translated.fail("operators of this type are not supported")
    _TRANSLATORS[node.op_type](translated)
    return translated.operators


def _opset_of(model):
    versions = [entry.version for entry in model.opset_import if entry.domain in ("", "ai.onnx")]
    version = versions[0] if versions else 1
    if not _OLDEST_OPSET <= version <= _NEWEST_OPSET:
        raise Unsupported(f"operator set {version} of ONNX is not supported, only "
                          f"{_OLDEST_OPSET} to {_NEWEST_OPSET}")
    return version


class Caffe2Backend(base.Backend):
    """ONNX's interface for backends: prepare, run_model, run_node."""

    @classmethod
    def onnx_graph_to_caffe2_net(
            cls, model: onnx.ModelProto, device: str = "CPU",
            opset_version: int | None = None) -> tuple[caffe2_pb2.NetDef, caffe2_pb2.NetDef]:
        """(init net, predict net) as NetDefs. Raises Unsupported for a model that cannot be run."""
        if not cls.supports_device(device):
            raise Unsupported(f"device {device} is not supported")
        opset = opset_version or _opset_of(model)
        init_net = caffe2_pb2.NetDef(name=model.graph.name + "_init")
        predict_net = caffe2_pb2.NetDef(name=model.graph.name + "_predict")
        constants = {}

        def add_constant(name, array):
            constants[name] = array
            init_net.op.append(fill_operator(array, name))
            init_net.external_output.append(name)

        for tensor in model.graph.initializer:
            add_constant(tensor.name, _array_of(tensor, tensor.name))
        shapes = _shapes(model)
        for node in model.graph.node:
            if node.op_type == "Constant":
                add_constant(node.output[0], _constant_of(node))
            else:
                predict_net.op.extend(_translate_node(node, opset, constants, shapes))
        inputs = [value.name for value in model.graph.input if value.name not in constants]
        predict_net.external_input.extend([*inputs, *constants])
        predict_net.external_output.extend(value.name for value in model.graph.output)
        _place([init_net, predict_net], device)
        return init_net, predict_net

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Caffe2Rep:
        """A Caffe2Rep of a checked model."""
        super().prepare(model, device, **kwargs)
        init_net, predict_net = cls.onnx_graph_to_caffe2_net(model, device)
        made = set(init_net.external_output)
        return Caffe2Rep(init_net, predict_net,
                         [name for name in predict_net.external_input if name not in made])

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Inputs, device: str = "CPU",
                  **kwargs: Any) -> tuple[Any, ...]:
        """prepare(model).run(inputs)."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(  # type: ignore[override]  # onnx says that further arguments are dicts
            cls, node: onnx.NodeProto, inputs: Inputs, device: str = "CPU",
            outputs_info: Sequence[tuple[np.dtype, tuple[int, ...]]] | None = None,
            opset_version: int | None = None, **kwargs: Any) -> tuple[Any, ...]:
        """Runs one node on arrays (a list, or a dict by name). Raises Unsupported for a node that
        cannot be run."""
        if not cls.supports_device(device):
            raise Unsupported(f"device {device} is not supported")
        if not isinstance(inputs, dict):
            inputs = dict(zip(node.input, inputs))
        values = {name: np.asarray(value) for name, value in inputs.items()}
        operators = _translate_node(node, opset_version or _NEWEST_OPSET, values,
                                    {name: value.shape for name, value in values.items()})
        ws = C.Workspace()
        for name, value in values.items():
            ws.feed_blob(name, value)
        net = caffe2_pb2.NetDef(name=node.op_type, op=operators)
        _place([net], device)
        ws.run(net)
        return named_outputs(node.output, [ws.fetch_blob(name) for name in node.output])

    @classmethod
    def supports_device(cls, device_str: str) -> bool:
        """True for "CPU", and with GPUs for "CUDA" and "CUDA:<i>"."""
        kind = str(device_str).split(":")[0]
        return kind == "CPU" or (kind == "CUDA" and C.num_cuda_devices() > 0)

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """True if the model can be run."""
        try:
            cls.onnx_graph_to_caffe2_net(model, device)
        except Unsupported:
            return False
        return True


onnx_graph_to_caffe2_net = Caffe2Backend.onnx_graph_to_caffe2_net
prepare = Caffe2Backend.prepare
run_model = Caffe2Backend.run_model
run_node = Caffe2Backend.run_node
supports_device = Caffe2Backend.supports_device
is_compatible = Caffe2Backend.is_compatible
