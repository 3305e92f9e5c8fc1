"""Converts the names and shapes of parameters of ResNet-18, 34, 50, 101 and 152 between the
networks here and torchvision's, which are the same (the stride is in the 3x3 convolution).

Parameters change where that is necessary for the same scores: a bias before a normalization becomes
part of its mean, and the excess of an epsilon over torchvision's becomes part of its variance.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import brew, model_helper
from caffe2.python.convert.errors import ConvertError
from caffe2.python.convert.model import Model, argument, array_of, order_of, with_values
from caffe2.python.models.resnet import RESNEXT_BLOCK_CONFIG, ResNetBuilder

DEPTHS = (18, 34, 50, 101, 152)
_EPSILON = 1e-5  # torchvision's
_NORM = {"weight": "s", "bias": "b", "running_mean": "rm", "running_var": "riv"}


@dataclasses.dataclass
class _Layer:
    """A convolution and the normalization after it: prefixes of names, here and in torchvision."""

    conv: str
    norm: str
    torch_conv: str
    torch_norm: str
    kernel: int
    stride: int
    in_filters: int
    out_filters: int


def _layers(depth, channels):
    """All of them, in order."""
    layers = [_Layer("conv1", "conv1_spatbn_relu", "conv1", "bn1", 7, 2, channels, 64)]
    filters, count = 64, 0
    for group, blocks in enumerate(RESNEXT_BLOCK_CONFIG[depth]):
        base = 64 << group
        for block in range(blocks):
            stride = 2 if group and not block else 1
            windows = (
                [(3, stride, base), (3, 1, base)]
                if depth < 50
                else [(1, 1, base), (3, stride, base), (1, 1, 4 * base)]
            )
            before, torch = filters, f"layer{group + 1}.{block}."
            for i, (kernel, step, out) in enumerate(windows, 1):
                layers.append(
                    _Layer(
                        f"comp_{count}_conv_{i}",
                        f"comp_{count}_spatbn_{i}",
                        f"{torch}conv{i}",
                        f"{torch}bn{i}",
                        kernel,
                        step,
                        filters,
                        out,
                    )
                )
                filters = out
            if before != filters or stride != 1:
                name = f"shortcut_projection_{count}"
                layers.append(
                    _Layer(
                        name,
                        name + "_spatbn",
                        torch + "downsample.0",
                        torch + "downsample.1",
                        1,
                        stride,
                        before,
                        filters,
                    )
                )
            count += 1
    return layers, filters


def _torch_shapes(depth, channels, labels):
    """{name: shape} of torchvision's parameters and running statistics."""
    layers, filters = _layers(depth, channels)
    shapes = {}
    for layer in layers:
        shapes[layer.torch_conv + ".weight"] = (
            layer.out_filters,
            layer.in_filters,
            layer.kernel,
            layer.kernel,
        )
        shapes.update({f"{layer.torch_norm}.{name}": (layer.out_filters,) for name in _NORM})
    return {**shapes, "fc.weight": (labels, filters), "fc.bias": (labels,)}


def is_state(state: Mapping[str, np.ndarray]) -> bool:
    """True for the names of a torchvision ResNet's state dict."""
    return "layer1.0.conv1.weight" in state and "fc.weight" in state


def _check_state(state):
    """The depth of the network of a state dict. Raises ConvertError if it is none of these."""
    if not is_state(state):
        raise ConvertError(
            "this state dict is not of a torchvision ResNet: there is no "
            "layer1.0.conv1.weight or no fc.weight; name a model with the same "
            "parameters as --like"
        )
    blocks = tuple(
        len({name.split(".")[1] for name in state if name.startswith(f"layer{group}.")})
        for group in range(1, 5)
    )
    bottleneck = "layer1.0.conv3.weight" in state
    depth = next(
        (
            depth
            for depth in DEPTHS
            if RESNEXT_BLOCK_CONFIG[depth] == blocks and (depth >= 50) == bottleneck
        ),
        None,
    )
    if depth is None:
        raise ConvertError(f"a ResNet with {blocks} blocks is none of {DEPTHS}")
    _check_shapes(
        state,
        _torch_shapes(depth, _dim(state, "conv1.weight", 4, 1), _dim(state, "fc.weight", 2, 0)),
        f"ResNet-{depth}",
    )
    return depth


def _dim(state, name, rank, axis):
    if name not in state or state[name].ndim != rank:
        raise ConvertError(f"{name} is missing, or has not {rank} dimensions")
    return state[name].shape[axis]


def _check_shapes(state, shapes, what):
    for name, shape in shapes.items():
        if name not in state:
            raise ConvertError(f"the parameter {name} of {what} is missing")
        if tuple(state[name].shape) != shape:
            raise ConvertError(
                f"{name} has the shape {tuple(state[name].shape)}, in {what} it " f"has {shape}"
            )
    unknown = [
        name for name in state if name not in shapes and not name.endswith("num_batches_tracked")
    ]
    if unknown:
        raise ConvertError(f"{what} has no parameter {unknown[0]}")


def _set_epsilon(norm):
    epsilon = argument(norm, "epsilon")
    if epsilon is None:
        epsilon = norm.arg.add(name="epsilon")
    epsilon.f = _EPSILON


def _build(depth, channels, labels):
    """The NetDef that predicts, on NCHW images "data"."""
    helper = model_helper.ModelHelper(f"resnet{depth}", init_params=False)
    layers, filters = _layers(depth, channels)
    stem = layers[0]
    brew.conv(helper, "data", stem.conv, channels, 64, kernel=7, stride=2, pad=3, no_bias=1)
    brew.spatial_bn(helper, stem.conv, stem.norm, 64, epsilon=_EPSILON, is_test=True)
    brew.relu(helper, stem.norm, stem.norm)
    pool = brew.max_pool(helper, stem.norm, "pool1", kernel=3, stride=2, pad=1)
    builder = ResNetBuilder(helper, pool, no_bias=1, is_test=True, bn_epsilon=_EPSILON)
    before = 64
    for group, blocks in enumerate(RESNEXT_BLOCK_CONFIG[depth]):
        base = 64 << group
        for block in range(blocks):
            first = group > 0 and block == 0
            if depth >= 50:
                before = builder.add_bottleneck(before, base, 4 * base, stride=2 if first else 1)
            else:
                builder.add_simple_block(before, base, down_sampling=first)
                before = base
    average = brew.average_pool(helper, builder.prev_blob, "final_avg", global_pooling=True)
    scores = brew.fc(helper, average, f"last_out_L{labels}", filters, labels)
    brew.softmax(helper, scores, "softmax")
    net = caffe2_pb2.NetDef.FromString(helper.net.Proto().SerializeToString())
    for op in net.op:
        if op.type == "SpatialBN":  # one of each simple block has an epsilon of its own
            _set_epsilon(op)
    return net


def model_of_state(state: Mapping[str, np.ndarray]) -> Model:
    """The network that a state dict of torchvision belongs to. Its output is the softmax of
    torchvision's scores. Raises ConvertError."""
    depth = _check_state(state)
    labels, channels = state["fc.weight"].shape[0], state["conv1.weight"].shape[1]
    net = _build(depth, channels, labels)
    layers, _ = _layers(depth, channels)
    values = {}
    for layer in layers:
        values[layer.conv + "_w"] = state[layer.torch_conv + ".weight"]
        values.update(
            {
                f"{layer.norm}_{here}": state[f"{layer.torch_norm}.{there}"]
                for there, here in _NORM.items()
            }
        )
    values[f"last_out_L{labels}_w"] = state["fc.weight"]
    values[f"last_out_L{labels}_b"] = state["fc.bias"]
    values = {name: np.ascontiguousarray(value, np.float32) for name, value in values.items()}
    net.external_input[:] = ["data", *values]
    net.external_output[:] = ["softmax"]
    return Model(net, {**values}, ["data"], ["softmax"], {"data": [0, channels, 224, 224]})


def _unscoped(model):
    """{name without the scope that Caffe2's trainers give it ("gpu_0/"): name}."""
    return {re.sub(r"^gpu_0/", "", name): name for name in model.values}


def _parameters(model):
    """(depth, layers, labels, {name: name in the model}); None if the model is no such network."""
    names = _unscoped(model)
    last = [name for name in names if re.fullmatch(r"(last_out_L\d+|pred)_w", name)]
    if "conv1_w" not in names or len(last) != 1:
        return None
    for depth in DEPTHS:
        layers, _ = _layers(depth, 3)
        known = (
            {f"{layer.conv}_w" for layer in layers}
            | {f"{layer.norm}_{part}" for layer in layers for part in _NORM.values()}
            | {last[0], last[0][:-1] + "b"}
        )
        biases = {f"{layer.conv}_b" for layer in layers}
        if known <= set(names) <= known | biases:
            return depth, layers, last[0][:-2], names
    return None


def is_resnet(model: Model) -> bool:
    """True if the parameters of a model have the names of one of these networks."""
    return _parameters(model) is not None


def _readers(model):
    """{blob: the operator that reads it}, the last one."""
    return {name: op for op in model.net.op for name in op.input}


def _stride(op):
    stride = argument(op, "stride") or argument(op, "stride_h")
    strides = argument(op, "strides")
    return stride.i if stride else strides.ints[0] if strides else 1


def _pool(model):
    return next((op for op in model.net.op if op.type == "MaxPool"), None)


def pool_padding(model: Model) -> int | None:
    """The padding of the first max pooling, which is torchvision's 1 or our trainers' 0; None for
    others."""
    pool = _pool(model)
    if pool is None or argument(pool, "legacy_pad"):
        return None
    pads = argument(pool, "pads")
    all_sides = argument(pool, "pad")
    sides = [argument(pool, f"pad_{side}") or all_sides for side in "tlbr"]
    padding = set(pads.ints) if pads else {side.i if side else 0 for side in sides}
    return padding.pop() if padding in ({0}, {1}) else None


def set_pool_padding(model: Model, padding: int) -> None:
    """Gives the max pooling of a model of model_of_state another padding. Raises ConvertError if it
    has none."""
    pool = _pool(model)
    pad = argument(pool, "pad") if pool is not None else None
    if pad is None:
        raise ConvertError("the metadata has the padding of a max pooling, which the net does not "
                           "have")
    pad.i = padding


def _note_pool(model):
    """Torchvision pads its max pooling, our trainers do not."""
    if pool_padding(model) == 0:
        model.notes.append(
            "the max pooling of this model has no padding: for the same scores, set "
            "model.maxpool.padding = 0 in PyTorch"
        )


def state_of_model(model: Model) -> dict[str, np.ndarray]:
    """The state dict, with torchvision's names and shapes, of a model that is one of these
    networks. Adds notes to the model about properties that a state dict cannot hold. Raises
    ConvertError."""
    found = _parameters(model)
    if found is None:
        raise ConvertError(
            "the model is not a ResNet with our parameter names, so there are no "
            "names of torchvision for its parameters (--names caffe2 keeps them)"
        )
    depth, layers, last, names = found
    readers, state = _readers(model), {}

    def value(name):
        return array_of(model.values[names[name]]).astype(np.float32)

    for layer in layers:
        conv, norm = readers[names[layer.conv + "_w"]], readers[names[layer.norm + "_s"]]
        if _stride(conv) != layer.stride:
            raise ConvertError(
                f"{layer.conv} has the stride {_stride(conv)}, in torchvision it has "
                f"{layer.stride}: this is another variant of ResNet-{depth}"
            )
        weight = value(layer.conv + "_w")
        if order_of(conv) == "NHWC":
            weight = weight.transpose(0, 3, 1, 2)
        state[layer.torch_conv + ".weight"] = np.ascontiguousarray(weight)
        for there, here in _NORM.items():
            state[f"{layer.torch_norm}.{there}"] = value(f"{layer.norm}_{here}")
        if layer.conv + "_b" in names:
            state[layer.torch_norm + ".running_mean"] -= value(layer.conv + "_b")
        epsilon = argument(norm, "epsilon")
        state[layer.torch_norm + ".running_var"] += np.float32(
            (epsilon.f if epsilon else _EPSILON) - _EPSILON
        )
        state[layer.torch_norm + ".num_batches_tracked"] = np.array(0, np.int64)
    state["fc.weight"], state["fc.bias"] = value(last + "_w"), value(last + "_b")
    _check_shapes(
        state,
        _torch_shapes(depth, state["conv1.weight"].shape[1], state["fc.weight"].shape[0]),
        f"ResNet-{depth}",
    )
    _note_pool(model)
    return state


def model_like(state: Mapping[str, np.ndarray], like: Model) -> Model:
    """The net of `like` with the parameters and the epsilon of a state dict of torchvision. Raises
    ConvertError."""
    found = _parameters(like)
    depth = _check_state(state)
    if found is None or found[0] != depth:
        raise ConvertError(
            f"the file has the parameters of a ResNet-{depth}, the model that "
            "--like names is another network"
        )
    _, layers, last, names = found
    readers, values = _readers(like), {}
    for layer in layers:
        weight = state[layer.torch_conv + ".weight"]
        if order_of(readers[names[layer.conv + "_w"]]) == "NHWC":
            weight = weight.transpose(0, 2, 3, 1)
        values[layer.conv + "_w"] = weight
        for there, here in _NORM.items():
            values[f"{layer.norm}_{here}"] = state[f"{layer.torch_norm}.{there}"]
        _set_epsilon(readers[names[layer.norm + "_s"]])
        if layer.conv + "_b" in names:
            values[layer.conv + "_b"] = np.zeros(layer.out_filters, np.float32)
    values[last + "_w"], values[last + "_b"] = state["fc.weight"], state["fc.bias"]
    return with_values(like, {names[name]: value for name, value in values.items()})
