"""Turns ONNX models into NetDefs and runs them. Supports operator sets 6 to 28, and the nodes of
`_TRANSLATORS`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend import base

from caffe2.proto import caffe2_pb2
from caffe2.python import _import_c_extension as C
from caffe2.python.onnx import elementwise, recurrent, reductions
from caffe2.python.onnx.backend_rep import Caffe2Rep
from caffe2.python.onnx.error import Unsupported
from caffe2.python.onnx.helper import Inputs, fill_operator, named_outputs
from caffe2.python.onnx.node import Node, array_of, with_arguments
from caffe2.python.onnx.shapes import CAFFE2_TYPES

_OLDEST_OPSET, _NEWEST_OPSET = 6, 28
# Elements that ConstantFill can write.
_FILLED_TYPES = (onnx.TensorProto.FLOAT, onnx.TensorProto.INT32, onnx.TensorProto.INT64,
                 onnx.TensorProto.BOOL)


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
    weight = node.shape_of(node.input[1]) or ()
    if node.type == "ConvTranspose":
        for name, plain in (("auto_pad", ("NOTSET", "VALID")), ("dilations", (None, [1, 1]))):
            if node.attribute(name, plain[0]) not in plain:
                node.fail(f"{name} {node.attribute(name)} is not supported")
    arguments = _window(
        node, weight[2:] if all(isinstance(size, int) for size in weight[2:]) else None)
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
        if node.attribute("count_include_pad", 0):
            node.fail("ceil_mode with count_include_pad is not supported")
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
        size = node.size_of(0, axis)
        if size is not None:  # ONNX's bounds may lie outside, or be in the wrong order
            all_starts[axis], end, _ = slice(start, end).indices(size)
            all_ends[axis] = max(all_starts[axis], end)
            continue
        # In Caffe2, -1 is the end and -2 one before it.
        all_starts[axis] = start - (start < 0)
        all_ends[axis] = -1 if end >= np.iinfo(np.int32).max else end - (end < 0)
    node.add("Slice", node.input[:1], node.output, starts=all_starts, ends=all_ends)


def _split(node):
    arguments = {"axis": node.attribute("axis", 0)}
    sizes = node.values("split", 1)
    total = node.size_of(0, arguments["axis"])
    if node.attribute("num_outputs") and total is not None:  # the last part may be smaller
        part = -(-total // len(node.output))
        sizes = [part] * (len(node.output) - 1)
        sizes.append(total - sum(sizes))
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


def _cast(node):
    kind = node.attribute("to")
    if kind not in CAFFE2_TYPES:
        node.fail(f"element type {kind} is not supported")
    node.add("Cast", node.input, node.output, to=CAFFE2_TYPES[kind])


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
    value = np.zeros(1, np.float32) if value is None else array_of(value, node.output[0])
    shape = node.constant_value(node.input[0])
    if shape is not None:
        shape = [int(size) for size in shape]
        node.operators.append(fill_operator(np.full(shape, value[0], value.dtype), node.output[0]))
        return
    kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
    if kind not in _FILLED_TYPES:
        node.fail(f"a shape that is computed cannot be filled with {value.dtype}")
    node.add("ConstantFill", node.input, node.output, input_as_shape=1, value=value[0].item(),
             dtype=CAFFE2_TYPES[kind])


def _layer_normalization(node):
    if any(node.output[1:]):
        node.fail("the outputs Mean and InvStdDev are not supported")
    axis = node.axis(node.attribute("axis", -1))
    x = node.add("LayerNorm", node.input[:1], [
        node.new_name(name) for name in ("normalized", "mean", "stdev")], axis=axis,
        epsilon=node.attribute("epsilon", 1e-5))
    if not node.input_at(2):
        node.add("Mul", [x, node.input[1]], node.output[:1])
        return
    x = node.add("Mul", [x, node.input[1]], node.new_name("scaled"))
    node.add("Add", [x, node.input[2]], node.output[:1])


def _lp_normalization(node):
    if node.attribute("p", 2) not in (1, 2):
        node.fail(f"p {node.attribute('p')} is not supported, only 1 and 2")
    node.add("Normalize" if node.attribute("p", 2) == 2 else "NormalizeL1", node.input,
             node.output, axis=node.attribute("axis", -1))


def _image_sizes(node):
    """The channels, and height and width, of which one may be -1, not known."""
    shape = node.shape_of(node.input[0])
    sizes = [size if isinstance(size, int) else -1 for size in shape or ()]
    if len(sizes) != 4 or sizes[1] < 0 or sizes[2:] == [-1, -1]:
        node.fail("the number of channels, and height or width, must be known: found shape "
                  f"{shape}")
    return sizes[1:]


def _reorder(node, first, axes, second):
    """Reshape, Transpose, Reshape."""
    x = node.add("Reshape", node.input, [node.new_name("blocks"), node.new_name("old_shape")],
                 shape=first)
    x = node.add("Transpose", [x], node.new_name("order"), axes=axes)
    node.add("Reshape", [x], [node.output[0], node.new_name("old_shape")], shape=second)


def _depth_to_space(node):
    block, (channels, height, width) = node.attribute("blocksize"), _image_sizes(node)
    kept = channels // block ** 2
    if kept * block ** 2 != channels:
        node.fail(f"{channels} channels are no multiple of {block} x {block}")
    last = [-1 if height < 0 else height * block, -1 if width < 0 else width * block]
    if node.attribute("mode", "DCR") == "CRD":
        _reorder(node, [0, kept, block, block, height, width], [0, 1, 4, 2, 5, 3],
                 [0, kept, *last])
    else:
        _reorder(node, [0, block, block, kept, height, width], [0, 3, 4, 1, 5, 2],
                 [0, kept, *last])


def _space_to_depth(node):
    block, (channels, height, width) = node.attribute("blocksize"), _image_sizes(node)
    if any(size > 0 and size % block for size in (height, width)):
        node.fail(f"an image of {height} x {width} is no multiple of {block}")
    last = [-1 if size < 0 else size // block for size in (height, width)]
    _reorder(node, [0, channels, last[0], block, last[1], block], [0, 3, 5, 1, 2, 4],
             [0, channels * block ** 2, *last])


def _dropout(node):
    if len(node.input) > 2 and node.constant(2):
        node.fail("training_mode is not supported: export the model for inference")
    node.add("Copy", node.input[:1], node.output[:1])


def _gather(node):
    axis, indices = node.axis(node.attribute("axis", 0)), node.input[1]
    value = node.constant_value(indices)
    if value is not None and value.size and value.min() < 0:
        size = node.size_of(0, axis)
        if size is None:
            node.fail(f"indices {value.tolist()} count from the end of axis {axis}, whose size is "
                      "not known")
        indices = node.add_constant(np.where(value < 0, value + size, value),
                                    node.new_name("indices"))
    node.add("Gather", [node.input[0], indices], node.output, axis=axis)


def _concat(node):
    node.add("Concat", node.input, [node.output[0], node.new_name("lengths")],
             axis=node.attribute("axis", 1))


_TRANSLATORS = {
    **elementwise.TRANSLATORS, **reductions.TRANSLATORS, **recurrent.TRANSLATORS,
    "AveragePool": _pool, "BatchNormalization": _batch_normalization, "Cast": _cast, "Clip": _clip,
    "Concat": _concat, "ConstantOfShape": _constant_of_shape, "Conv": _conv,
    "ConvTranspose": _conv, "DepthToSpace": _depth_to_space, "Dropout": _dropout,
    "Flatten": with_arguments("Flatten", axis=("axis", 1)), "Gather": _gather, "Gemm": _gemm,
    "GlobalAveragePool": _global_pool, "GlobalMaxPool": _global_pool,
    "InstanceNormalization": with_arguments("InstanceNorm", epsilon=("epsilon", 1e-5)),
    "LRN": with_arguments("LRN", size=("size", None), alpha=("alpha", 1e-4),
                          beta=("beta", 0.75), bias=("bias", 1.0)),
    "LayerNormalization": _layer_normalization, "LpNormalization": _lp_normalization,
    "MatMul": _matmul, "MaxPool": _pool, "PRelu": _prelu, "Pad": _pad, "Reshape": _reshape,
    "Resize": _resize, "Shape": _shape, "Slice": _slice, "SpaceToDepth": _space_to_depth,
    "Split": _split, "Squeeze": _axes,
    "Transpose": with_arguments("Transpose", axes=("perm", None)), "Unsqueeze": _axes,
    "Upsample": _resize,
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
        return array_of(value, node.output[0])
    array = np.asarray(value)
    return array.astype(np.float32) if array.dtype == np.float64 else array


def _place(nets, device):
    """Puts nets on "CPU", "CUDA" or "CUDA:1"."""
    kind, _, number = str(device).partition(":")
    for net in nets if kind != "CPU" else ():
        net.device_option.device_type = caffe2_pb2.DeviceType.Value(kind)
        net.device_option.device_id = int(number or 0)


def _translate_node(node, opset, constants, shapes):
    """The Node with the OperatorDefs of one NodeProto; raises Unsupported that names it."""
    translated = Node(node, opset, constants, shapes)
    if node.op_type not in _TRANSLATORS or node.domain not in ("", "ai.onnx"):
        translated.fail("operators of this type are not supported")
    _TRANSLATORS[node.op_type](translated)
    return translated


def _check_written(names, unwritten):
    for name in names:
        if name in unwritten:
            unwritten[name].fail(f"its output {name} is not supported")


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
            add_constant(tensor.name, array_of(tensor, tensor.name))
        shapes = _shapes(model)
        unwritten: dict[str, Node] = {}  # outputs that no operator writes, with their nodes
        for node in model.graph.node:
            _check_written(node.input, unwritten)
            if node.op_type == "Constant":
                add_constant(node.output[0], _constant_of(node))
            else:
                translated = _translate_node(node, opset, constants, shapes)
                unwritten.update(dict.fromkeys(translated.unwritten(), translated))
                for name, array in translated.new_constants.items():
                    add_constant(name, array)
                predict_net.op.extend(translated.operators)
        _check_written([value.name for value in model.graph.output], unwritten)
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
        translated = _translate_node(node, opset_version or _NEWEST_OPSET, values,
                                     {name: value.shape for name, value in values.items()})
        _check_written(node.output, dict.fromkeys(translated.unwritten(), translated))
        ws = C.Workspace()
        for name, value in values.items():
            ws.feed_blob(name, value)
        net = caffe2_pb2.NetDef(name=node.op_type, op=[
            *(fill_operator(array, name) for name, array in translated.new_constants.items()),
            *translated.operators])
        _place([net], device)
        ws.run(net)
        outputs = [name for name in node.output if name]
        return named_outputs(outputs, [ws.fetch_blob(name) for name in outputs])

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
