"""ONNX's LSTM, GRU and RNN, as the cells of rnn_cell and gru_cell.

The last state of an empty sequence is its initial state, on which ONNX's text is silent.
"""

from __future__ import annotations

import numpy as np

from caffe2.proto import caffe2_pb2
from caffe2.python import core, gru_cell, rnn_cell
from caffe2.python.model_helper import ModelHelper

# The gates in the order of the cells, as positions in ONNX's order: i o f c and z r h.
_GATES = {"LSTM": (0, 2, 1, 3), "GRU": (1, 0, 2), "RNN": (0,)}
# The layers of a cell that multiply the state, with the gates of each.
_STATE_LAYERS = {
    "LSTM": {"gates_t": (0, 2, 1, 3)},
    "GRU": {"reset_gate_t": (1,), "update_gate_t": (0,), "output_gate_t": (2,)},
    "RNN": {"gates_t": (0,)},
}
_ACTIVATIONS = {"LSTM": ["sigmoid", "tanh", "tanh"], "GRU": ["sigmoid", "tanh"], "RNN": ["tanh"]}
_DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def _activations(node, directions):
    """The activations of each direction, in lower case."""
    default = _ACTIVATIONS[node.type]
    names = node.attribute("activations") or default * directions
    names = [(name.decode() if isinstance(name, bytes) else name).lower() for name in names]
    parts = [names[i:i + len(default)] for i in range(0, len(names), len(default))]
    for part in parts:
        if part != default and not (node.type == "RNN" and part == ["relu"]):
            node.fail(f"activations {names} are not supported, only {default}"
                      + (" and ['relu']" if node.type == "RNN" else ""))
    if len(parts) != directions:
        node.fail(f"there are {len(names)} activations for {directions} directions")
    return parts


def _check(node):
    """Refuses what the cells cannot compute."""
    if node.attribute("layout", 0):
        node.fail("layout 1 is not supported: export the model with layout 0, whose first axis is "
                  "time")
    if node.attribute("clip", 0):
        node.fail("clip is not supported")
    if node.attribute("input_forget", 0):
        node.fail("input_forget is not supported")
    if node.type == "LSTM" and node.input_at(7):
        node.fail("peepholes (input P) are not supported")


def _weights(node, directions):
    """(W, R, B): [D, G * H, I], [D, G * H, H] and [D, 2, G * H], float."""
    weights, recurrent = node.constant(1), node.constant(2)
    gates, hidden = len(_GATES[node.type]), (recurrent.shape or (0,))[-1]
    bias = node.constant(3, np.zeros((directions, 2 * gates * hidden), np.float32))
    for array, name, rank in ((weights, "W", 3), (recurrent, "R", 3), (bias, "B", 2)):
        if array.dtype != np.float32 or array.ndim != rank or array.shape[0] != directions:
            node.fail(f"input {name} is {array.dtype} {list(array.shape)}; it must be float32 of "
                      f"{rank} dimensions, of which the first is {directions}")
    rows = (weights.shape[1], recurrent.shape[1], bias.shape[1] // 2)
    if set(rows) != {gates * hidden} or bias.shape[1] % 2 \
            or node.attribute("hidden_size", hidden) != hidden:
        node.fail(f"hidden_size {node.attribute('hidden_size', hidden)} does not fit to inputs "
                  f"W {list(weights.shape)}, R {list(recurrent.shape)} and B {list(bias.shape)}")
    return weights, recurrent, bias.reshape(directions, 2, gates * hidden)


def _add_parameters(node, scope, weights, recurrent, bias):
    """The parameters of one direction, under the names of the cell."""
    hidden = recurrent.shape[-1]

    def chosen(array, gates):
        blocks = array.reshape(-1, hidden, *array.shape[1:])
        return np.concatenate([blocks[gate] for gate in gates])

    layers = {"i2h": (weights, bias[0], _GATES[node.type])}
    for layer, gates in _STATE_LAYERS[node.type].items():
        layers[layer] = (recurrent, bias[1], gates)
    for layer, (matrix, vector, gates) in layers.items():
        node.add_constant(chosen(matrix, gates), f"{scope}/{layer}_w")
        node.add_constant(chosen(vector, gates), f"{scope}/{layer}_b")


def _initial_states(node, scope, i, directions, hidden):
    """The blobs [1, N, H] or [H] of the states before direction i."""
    states = []
    for k in (5, 6) if node.type == "LSTM" else (5,):
        given = node.input_at(k)
        if given is None:
            states.append(node.add_constant(
                np.zeros(hidden, np.float32), f"{scope}/initial_state_{k}"))
        elif directions == 1:
            states.append(given)
        else:
            states.append(node.add("Slice", [given], node.new_name("initial"), starts=[i, 0, 0],
                                   ends=[i + 1, -1, -1]))
    return states


def _lengths(node):
    """The lengths of the sequences, for ReversePackedSegs."""
    if node.input_at(4):
        return node.input[4]
    steps = node.add("Shape", node.input[:1], node.new_name("steps"), axes=[0])
    batch = node.add("Shape", node.input[:1], node.new_name("batch"), axes=[1])
    return node.add("ConstantFill", [batch, steps], node.new_name("lengths"), input_as_shape=1,
                    dtype=caffe2_pb2.TensorProto.INT64)


def _add_direction(node, scope, states, sizes, reverse, activations):
    """The cell over the sequence; (outputs of all steps [T, N, H], last states)."""
    x = node.input[0]
    lengths = _lengths(node) if reverse else None
    if reverse:
        x = node.add("ReversePackedSegs", [x, lengths], node.new_name("reversed"))
    model = ModelHelper(name=scope, init_params=False)
    arguments = {"LSTM": {}, "GRU": {"linear_before_reset": bool(
        node.attribute("linear_before_reset", 0))}, "RNN": {"activation": activations[0]}}
    make = {"LSTM": rnn_cell.LSTM, "GRU": gru_cell.GRU, "RNN": rnn_cell.BasicRNN}[node.type]
    with core.NameScope("", reset=True):
        blobs = make(model, x, node.input_at(4), states, *sizes, scope=scope, forward_only=True,
                     **arguments[node.type])
    node.operators.extend(model.net.Proto().op)
    y = str(blobs[0])
    if reverse:
        y = node.add("ReversePackedSegs", [y, lengths], node.new_name("in_order"))
    return y, [str(blob) for blob in blobs[1::2]]


def _valid(node):
    """1 [T, N, 1] where a step is before the end of its sequence, else 0."""
    steps = node.add("Shape", node.input[:1], node.new_name("steps"), axes=[0])
    steps = node.add("Range", [steps], node.new_name("range"))
    steps = node.add("ExpandDims", [steps], node.new_name("rows"), dims=[1])
    lengths = node.add("Cast", [node.input[4]], node.new_name("lengths"),
                       to=caffe2_pb2.TensorProto.INT64)
    valid = node.add("LT", [steps, lengths], node.new_name("before_end"))
    valid = node.add("Cast", [valid], node.new_name("valid"), to=caffe2_pb2.TensorProto.FLOAT)
    return node.add("ExpandDims", [valid], node.new_name("mask"), dims=[2])


def _join(node, blobs, output, axis):
    if len(blobs) == 1:
        node.add("Copy", blobs, output)
    else:
        node.add("Concat", blobs, [output, node.new_name("lengths")], axis=axis)


def _recurrent(node):
    _check(node)
    direction = node.attribute("direction", "forward")
    if direction not in _DIRECTIONS:
        node.fail(f"direction {direction} is not one of {', '.join(_DIRECTIONS)}")
    directions = _DIRECTIONS[direction]
    activations = _activations(node, len(directions))
    weights, recurrent, bias = _weights(node, len(directions))
    sizes = (weights.shape[2], recurrent.shape[2])
    outputs, last_states = [], []
    mask = _valid(node) if node.input_at(4) and node.output_at(0) else None
    for i, reverse in enumerate(directions):
        scope = node.new_name(f"direction_{i}")
        _add_parameters(node, scope, weights[i], recurrent[i], bias[i])
        states = _initial_states(node, scope, i, len(directions), sizes[1])
        y, last = _add_direction(node, scope, states, sizes, reverse, activations[i])
        last_states.append(last)
        if node.output_at(0):
            if mask is not None:
                y = node.add("Mul", [y, mask], node.new_name("masked"))
            outputs.append(node.add("ExpandDims", [y], node.new_name("steps"), dims=[1]))
    if outputs:
        _join(node, outputs, node.output[0], axis=1)
    for k, blobs in enumerate(zip(*last_states), start=1):
        if node.output_at(k):
            _join(node, list(blobs), node.output[k], axis=0)


TRANSLATORS = dict.fromkeys(("GRU", "LSTM", "RNN"), _recurrent)
