"""Cells of recurrent networks, and the functions that run them over sequences.

A sequence is a blob [T, N, D]: T steps of a batch of N. Blobs are named as in Caffe2: parameters of
an LSTM with scope "LSTM" are LSTM/i2h_w, LSTM/i2h_b (of the input) and LSTM/gates_t_w,
LSTM/gates_t_b (recurrent).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from caffe2.python import brew, core, workspace
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._rnn_cell_base import (
    BasicRNNInitializer,
    ExtraInputs,
    LSTMInitializer,
    RNNCell,
    StateInitializer,
    _RectifyName,
    _RectifyNames,
)
from caffe2.python._rnn_cell_composite import (
    AttentionCell,
    DropoutCell,
    MultiRNNCell,
    MultiRNNCellInitializer,
    UnrolledCell,
)
from caffe2.python.attention import AttentionType
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import Initializer

__all__ = [
    "AttentionCell", "AttentionType", "BasicRNN", "BasicRNNCell", "BasicRNNInitializer",
    "DropoutCell", "GetLSTMParamNames", "InitFromLSTMParams", "LSTM", "LSTMCell",
    "LSTMInitializer", "LSTMWithAttention", "LSTMWithAttentionCell", "LayerNormLSTM",
    "LayerNormLSTMCell", "LayerNormMILSTM", "LayerNormMILSTMCell", "MILSTM", "MILSTMCell",
    "MILSTMWithAttentionCell", "MultiRNNCell", "MultiRNNCellInitializer", "RNNCell",
    "UnrolledCell", "_LSTM", "_RectifyName", "_RectifyNames", "cudnn_LSTM", "layered_LSTM",
]


class BasicRNNCell(RNNCell):
    """h = activation(W_i x + W_h h_prev + b), with activation "tanh" or "relu".

    H is hidden_size, D is input_size. Raises RuntimeError for another activation.
    """

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float,
                 memory_optimization: bool, drop_states: bool = False,
                 initializer: StateInitializer | None = None, activation: str | None = None,
                 **kwargs: Any) -> None:
        super().__init__(initializer=initializer or BasicRNNInitializer(hidden_size), **kwargs)
        if activation not in ("relu", "tanh"):
            raise RuntimeError(f"BasicRNNCell with unknown activation function ({activation})")
        self.drop_states = drop_states
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.activation = activation

    def apply_override(self, model: ModelHelper, input_t: core.BlobReference,
                       seq_lengths: core.BlobReference | None, states: Sequence[core.BlobReference],
                       timestep: core.BlobReference,
                       extra_inputs: ExtraInputs | None = None) -> Sequence[core.BlobReference]:
        """One step, from input_t [1, N, H] and the state [1, N, H]. Returns the new state."""
        hidden_t_prev = states[0]
        gates_t = brew.fc(model, hidden_t_prev, "gates_t", dim_in=self.hidden_size,
                          dim_out=self.hidden_size, axis=2)
        brew.sum(model, [gates_t, input_t], gates_t)
        activate = model.net.Tanh if self.activation == "tanh" else model.net.Relu
        if seq_lengths is None:
            return (activate(gates_t, "hidden_t"),)
        hidden_t = activate(gates_t, "hidden_t_activated")
        return (self._end_sequences(model, hidden_t, hidden_t_prev, seq_lengths, timestep),)

    def _end_sequences(self, model, hidden_t, hidden_t_prev, seq_lengths, timestep):
        """The new hidden state; for sequences that have ended, the previous one (or zeros)."""

        def select(compare, name):
            chosen = compare([seq_lengths, timestep], name + "_b", broadcast=1)
            chosen = model.net.Cast(chosen, name, to="float")
            return model.net.StopGradient(chosen, chosen)

        timestep = model.net.CopyFromCPUInput(timestep, "timestep_gpu")
        valid = select(model.net.GT, "valid")
        if self.drop_states:
            return model.net.Mul([hidden_t, valid], "hidden_t", broadcast=1, axis=1)
        invalid = select(model.net.LE, "invalid")
        hidden_valid = model.net.Mul([hidden_t, valid], "hidden_valid", broadcast=1, axis=1)
        hidden_invalid = model.net.Mul(
            [hidden_t_prev, invalid], "hidden_invalid", broadcast=1, axis=1)
        return model.net.Add([hidden_valid, hidden_invalid], "hidden_t")

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> core.BlobReference:
        """The fully connected layer "i2h" of the sequence [T, N, D]: [T, N, H]."""
        return brew.fc(model, input_blob, self.scope("i2h"), dim_in=self.input_size,
                       dim_out=self.hidden_size, axis=2)

    def get_state_names_override(self) -> list[str]:
        """The one state, the output."""
        return ["hidden_t"]

    def get_output_dim(self) -> int:
        """The size H of the output."""
        return self.hidden_size


class LSTMCell(RNNCell):
    """A long short-term memory; see the operator LSTMUnit.

    Args:
      input_size, hidden_size: D and H, the sizes of the input and of each state.
      forget_bias: added to the forget gate.
      memory_optimization: True to recompute the gates for the gradient.
      drop_states: after the end of a sequence its states are 0 instead of the last ones.
    """

    # The names of the two outputs of LSTMUnit.
    _unit_outputs = ("hidden_state", "cell_state")

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float,
                 memory_optimization: bool, drop_states: bool = False,
                 initializer: StateInitializer | None = None, **kwargs: Any) -> None:
        super().__init__(initializer=initializer or LSTMInitializer(hidden_size=hidden_size),
                         **kwargs)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.forget_bias = float(forget_bias)
        self.memory_optimization = memory_optimization
        self.drop_states = drop_states
        self.gates_size = 4 * self.hidden_size

    def apply_override(self, model: ModelHelper, input_t: core.BlobReference,
                       seq_lengths: core.BlobReference | None, states: Sequence[core.BlobReference],
                       timestep: core.BlobReference,
                       extra_inputs: ExtraInputs | None = None) -> Sequence[core.BlobReference]:
        """One step, from input_t [1, N, 4 H] and the states [1, N, H]. Returns the new states."""
        hidden_t_prev, cell_t_prev = states
        fc_input, dim = hidden_t_prev, self.hidden_size
        if extra_inputs:
            blobs, sizes = zip(*extra_inputs)
            fc_input = brew.concat(
                model, [hidden_t_prev, *blobs], "gates_concatenated_input_t", axis=2)
            dim += sum(sizes)
        gates_t = self._gates(model, input_t, fc_input, dim)
        inputs = [hidden_t_prev, cell_t_prev, gates_t]
        inputs += [timestep] if seq_lengths is None else [seq_lengths, timestep]
        hidden_t, cell_t = model.net.LSTMUnit(
            inputs, list(self._unit_outputs), forget_bias=self.forget_bias,
            drop_states=self.drop_states, sequence_lengths=(seq_lengths is not None))
        model.net.AddExternalOutputs(hidden_t, cell_t)
        if self.memory_optimization:
            self.recompute_blobs = [gates_t]
        return hidden_t, cell_t

    def _gates(self, model, input_t, fc_input, dim):
        """The gates [1, N, 4 H] from the prepared input and the state [1, N, dim]."""
        gates_t = brew.fc(
            model, fc_input, "gates_t", dim_in=dim, dim_out=self.gates_size, axis=2)
        return brew.sum(model, [gates_t, input_t], gates_t)

    def get_input_params(self) -> dict[str, str]:
        """Blobs of the weights and biases that the input is multiplied with."""
        return self._weights_and_biases("i2h")

    def get_recurrent_params(self) -> dict[str, str]:
        """Blobs of the weights and biases that the state is multiplied with."""
        return self._weights_and_biases("gates_t")

    def _weights_and_biases(self, layer):
        prefix = self.scope(layer)
        return {"weights": f"{prefix}_w", "biases": f"{prefix}_b"}

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> core.BlobReference:
        """The fully connected layer "i2h" of the sequence [T, N, D]: [T, N, 4 H]."""
        return brew.fc(model, input_blob, self.scope("i2h"), dim_in=self.input_size,
                       dim_out=self.gates_size, axis=2)

    def get_state_names_override(self) -> list[str]:
        """The names of the two states: the output and the cell."""
        return ["hidden_t", "cell_t"]

    def get_output_dim(self) -> int:
        """The size H of the output."""
        return self.hidden_size


def _normalize(model, gates_t, dim):
    return brew.layer_norm(model, gates_t, "gates_t_norm", dim_in=dim, axis=-1)


class LayerNormLSTMCell(LSTMCell):
    """An LSTM with layer normalization of the gates (J. Ba et al., arXiv:1607.06450)."""

    _unit_outputs = ("hidden_t", "cell_t")

    def _gates(self, model, input_t, fc_input, dim):
        return _normalize(model, super()._gates(model, input_t, fc_input, dim), self.gates_size)


class MILSTMCell(LSTMCell):
    """An LSTM with multiplicative integration (Y. Wu et al., arXiv:1606.06630): the gates are
    alpha x h + beta1 h + beta2 x + b, with x and h after their products with weights."""

    _unit_outputs = ("hidden_t_intermediate", "cell_t")

    def _gates(self, model, input_t, fc_input, dim):
        prev_t = brew.fc(model, fc_input, "prev_t", dim_in=dim, dim_out=self.gates_size, axis=2)

        def param(name, value):
            return model.create_param(name, shape=[self.gates_size],
                                      initializer=Initializer("ConstantFill", value=value))

        alpha, beta_h, beta_i = param("alpha", 1.0), param("beta1", 1.0), param("beta2", 1.0)
        b = param("b", 0.0)
        factor = model.net.ElementwiseLinear(
            [input_t, alpha, beta_h], "alpha_by_input_t_plus_beta_h", axis=2)
        product = model.net.Mul([factor, prev_t], "alpha_by_input_t_plus_beta_h_by_prev_t")
        rest = model.net.ElementwiseLinear(
            [input_t, beta_i, b], "beta_i_by_input_t_plus_b", axis=2)
        return brew.sum(model, [product, rest], "gates_t")


class LayerNormMILSTMCell(MILSTMCell):
    """MILSTMCell with layer normalization of the gates."""

    def _gates(self, model, input_t, fc_input, dim):
        return _normalize(model, super()._gates(model, input_t, fc_input, dim), self.gates_size)


class _WithAttentionCell(AttentionCell):
    """An AttentionCell with a decoder of the class `_decoder`; takes the arguments of both."""

    _decoder: type

    def __init__(self, encoder_output_dim: int, encoder_outputs: BlobLike,
                 encoder_lengths: BlobLike | None, decoder_input_dim: int, decoder_state_dim: int,
                 name: str, attention_type: int, weighted_encoder_outputs: BlobLike | None,
                 forget_bias: float, lstm_memory_optimization: bool,
                 attention_memory_optimization: bool, forward_only: bool = False) -> None:
        decoder_cell = self._decoder(
            input_size=decoder_input_dim, hidden_size=decoder_state_dim, forget_bias=forget_bias,
            memory_optimization=lstm_memory_optimization, name=f"{name}/decoder")
        super().__init__(
            encoder_output_dim=encoder_output_dim, encoder_outputs=encoder_outputs,
            encoder_lengths=encoder_lengths, decoder_cell=decoder_cell,
            decoder_state_dim=decoder_state_dim, name=name, attention_type=attention_type,
            weighted_encoder_outputs=weighted_encoder_outputs,
            attention_memory_optimization=attention_memory_optimization,
            forward_only=forward_only)


class LSTMWithAttentionCell(_WithAttentionCell):
    """An AttentionCell with an LSTM as decoder."""

    _decoder = LSTMCell


class MILSTMWithAttentionCell(_WithAttentionCell):
    """An AttentionCell with a MILSTM as decoder. As in Caffe2, encoder_lengths is not the third
    argument; here it is the last."""

    _decoder = MILSTMCell

    def __init__(self, encoder_output_dim: int, encoder_outputs: BlobLike, decoder_input_dim: int,
                 decoder_state_dim: int, name: str, attention_type: int,
                 weighted_encoder_outputs: BlobLike | None, forget_bias: float,
                 lstm_memory_optimization: bool, attention_memory_optimization: bool,
                 forward_only: bool = False, encoder_lengths: BlobLike | None = None) -> None:
        super().__init__(
            encoder_output_dim, encoder_outputs, encoder_lengths, decoder_input_dim,
            decoder_state_dim, name, attention_type, weighted_encoder_outputs, forget_bias,
            lstm_memory_optimization, attention_memory_optimization, forward_only)


def _LSTM(cell_class: Callable[..., RNNCell], model: ModelHelper, input_blob: BlobLike,
          seq_lengths: BlobLike | None, initial_states: Sequence[BlobLike] | None, dim_in: int,
          dim_out: int | Sequence[int], scope: str | None = None,
          outputs_with_grads: Sequence[int] = (0,), return_params: bool = False,
          memory_optimization: bool = False, forget_bias: float = 0.0, forward_only: bool = False,
          drop_states: bool = False, return_last_layer_only: bool = True,
          static_rnn_unroll_size: int | None = None, **cell_kwargs: Any) -> tuple[Any, ...]:
    """Adds layers of a recurrent network to a model. LSTM, BasicRNN and the others are this
    function with a cell class.

    Args:
      input_blob: the sequence [T, N, dim_in].
      seq_lengths: blob [N], int32, or None if all sequences have T steps.
      initial_states: blobs for the states of all layers (LSTM: hidden, cell, hidden, ...); None:
        trained parameters.
      dim_out: the number of units of the layer, or a list with a number for each layer.
      scope: prefix of all names.
      outputs_with_grads: positions of the results of the last layer that will have gradients.
      return_params: True to return, as the last result, the names of the parameters
        {"input": {"weights", "biases"}, "recurrent": ...}, of one layer.
      memory_optimization: True to recompute the gates for the gradient.
      forget_bias, drop_states: see LSTMCell.
      forward_only: True to build no gradient, which saves memory.
      return_last_layer_only: False for the results of all layers.
      static_rnn_unroll_size: T, to unroll the network into operators of the net.
      **cell_kwargs: further arguments of the cell.

    Returns for each state the blobs [T, N, dim_out] of all steps and [1, N, dim_out] of the last;
    of an LSTM (hidden_all, hidden_last, cell_all, cell_last).
    """
    dims = list(dim_out) if isinstance(dim_out, (list, tuple)) else [dim_out]
    cells = [
        cell_class(
            input_size=size_in, hidden_size=size, forget_bias=forget_bias,
            memory_optimization=memory_optimization, name=scope if len(dims) == 1 else None,
            forward_only=forward_only, drop_states=drop_states, **cell_kwargs)
        for size_in, size in zip([dim_in, *dims], dims)]
    cell = cells[0]
    if len(cells) > 1:
        cell = MultiRNNCell(cells, name=scope, forward_only=forward_only)
    if static_rnn_unroll_size is not None:
        cell = UnrolledCell(cell, static_rnn_unroll_size)
    before_last = 2 * sum(len(layer.get_state_names()) for layer in cells[:-1])
    _, blobs = cell.apply_over_sequence(
        model=model, inputs=input_blob, seq_lengths=seq_lengths, initial_states=initial_states,
        outputs_with_grads=[before_last + i for i in outputs_with_grads])
    results = tuple(blobs[before_last:] if return_last_layer_only else blobs)
    if not return_params:
        return results
    layer: Any = cell  # only the cells with parameters of this form have the methods
    return (*results, {"input": layer.get_input_params(),
                       "recurrent": layer.get_recurrent_params()})


LSTM = functools.partial(_LSTM, LSTMCell)
BasicRNN = functools.partial(_LSTM, BasicRNNCell)
MILSTM = functools.partial(_LSTM, MILSTMCell)
LayerNormLSTM = functools.partial(_LSTM, LayerNormLSTMCell)
LayerNormMILSTM = functools.partial(_LSTM, LayerNormMILSTMCell)


def cudnn_LSTM(model: ModelHelper, input_blob: BlobLike, initial_states: Sequence[BlobLike],
               dim_in: int, dim_out: int, scope: str,
               recurrent_params: Mapping[str, BlobLike] | None = None,
               input_params: Mapping[str, BlobLike] | None = None, num_layers: int = 1,
               return_params: bool = False) -> tuple[Any, ...]:
    """Adds layers of LSTM over sequences that all have T steps. In Caffe2 they are one operator of
    cuDNN; here each layer is an LSTM with its usual parameters, on any device.

    Args:
      input_blob: the sequence [T, N, dim_in].
      initial_states: blobs (hidden, cell), [num_layers, N, dim_out].
      dim_out: units of each layer.
      recurrent_params, input_params: {name of GetLSTMParamNames: blob}, the initial values of
        gates in all layers; other gates start at random.
      return_params: True for a fourth result (net, {"input": {name: {layer: blob}}, "recurrent":
        ...}): the net writes the parameters of the gates to these blobs.

    Returns the blobs of the output of all steps [T, N, dim_out] and of the last hidden states and
    cells [num_layers, N, dim_out].
    """
    given = {"input": input_params or {}, "recurrent": recurrent_params or {}}
    extract_net = core.Net("lstm_param_extractor")
    extracted: dict[str, dict[str, dict[int, Any]]] = {"input": {}, "recurrent": {}}
    hidden, cell = (
        _split_blob(model.net, states, num_layers,
                    core.ScopedBlobReference(f"{scope}/initial_{kind}"))
        for kind, states in zip(("hidden", "cell"), initial_states))
    output, last = input_blob, []
    for layer in range(num_layers):
        layer_scope = scope if num_layers == 1 else f"{scope}/layer_{layer}"
        output, last_hidden, _, last_cell, blobs = LSTM(
            model, output, None, (hidden[layer], cell[layer]), dim_out if layer else dim_in,
            dim_out, scope=layer_scope, return_params=True)
        last.append((last_hidden, last_cell))
        for part, kinds in blobs.items():
            for kind, blob in kinds.items():
                names = GetLSTMParamNames()[kind]
                blob = core.ScopedBlobReference(blob)
                _set_gates(model.param_init_net, blob, names, given[part])
                extract_net.AddExternalInput(blob)
                for name, gate in zip(names, _split_blob(extract_net, blob, 4, blob + "_gate")):
                    extracted[part].setdefault(name, {})[layer] = gate
    hidden, cell = (
        model.net.Concat(list(states), [f"{scope}/last_{kind}", f"{scope}/last_{kind}_dims"],
                         axis=0)[0]
        for kind, states in zip(("hidden", "cell"), zip(*last)))
    results = (output, hidden, cell)
    return (*results, (extract_net, extracted)) if return_params else results


def _split_blob(net, blob, number, prefix):
    """Equal parts of a blob along its first dimension, as a list; their names begin with the name
    of the BlobReference `prefix`."""
    if number == 1:
        return [blob]
    return list(net.Split([blob], [prefix + f"_{i}" for i in range(number)], axis=0))


def _set_gates(init_net, blob, names, given):
    """Sets the gates of a joint parameter for which blobs are given."""
    if any(name in given for name in names):
        gates = _split_blob(init_net, blob, len(names), blob + "_first")
        gates = [init_net.ResizeLike([given[name], gate]) if name in given else gate
                 for name, gate in zip(names, gates)]
        init_net.Concat(gates, [blob, blob + "_dims"], axis=0)


def LSTMWithAttention(model: ModelHelper, decoder_inputs: BlobLike,
                      decoder_input_lengths: BlobLike | None,
                      initial_decoder_hidden_state: BlobLike, initial_decoder_cell_state: BlobLike,
                      initial_attention_weighted_encoder_context: BlobLike, encoder_output_dim: int,
                      encoder_outputs: BlobLike, encoder_lengths: BlobLike | None,
                      decoder_input_dim: int, decoder_state_dim: int, scope: str,
                      attention_type: int = AttentionType.Regular,
                      outputs_with_grads: Sequence[int] = (0, 4),
                      weighted_encoder_outputs: BlobLike | None = None,
                      lstm_memory_optimization: bool = False,
                      attention_memory_optimization: bool = False, forget_bias: float = 0.0,
                      forward_only: bool = False) -> Sequence[core.BlobReference]:
    """Adds an LSTM that attends to the outputs of an encoder; see AttentionCell.

    Args:
      decoder_inputs: the sequence [T, N, decoder_input_dim]; decoder_input_lengths as seq_lengths.
      initial_*: blobs for the initial hidden state, cell and context.

    Returns two blobs, over all steps and of the last, for each of: hidden state, cell, context and,
    with soft coverage, coverage.
    """
    cell = LSTMWithAttentionCell(
        encoder_output_dim, encoder_outputs, encoder_lengths, decoder_input_dim, decoder_state_dim,
        scope, attention_type, weighted_encoder_outputs, forget_bias, lstm_memory_optimization,
        attention_memory_optimization, forward_only)
    states = [initial_decoder_hidden_state, initial_decoder_cell_state,
              initial_attention_weighted_encoder_context]
    if attention_type == AttentionType.SoftCoverage:
        states.append(cell.build_initial_coverage(model))
    return cell.apply_over_sequence(
        model, decoder_inputs, decoder_input_lengths, states, outputs_with_grads)[1]


def _layered_LSTM(model: ModelHelper, input_blob: BlobLike, seq_lengths: BlobLike | None,
                  initial_states: Sequence[BlobLike] | None, dim_in: int, dim_out: int | list[int],
                  scope: str, create_lstm: Callable[..., tuple[Any, ...]],
                  **kwargs: Any) -> tuple[Any, ...]:
    """Layers of recurrent networks: the initial states of each are the last states of the previous
    one. For arguments and results see _LSTM; return_params needs a single layer."""
    dims = dim_out if isinstance(dim_out, list) else [dim_out]
    if not dims or (len(dims) > 1 and kwargs.get("return_params")):
        raise ValueError(f"dim_out {dim_out} with return_params={kwargs.get('return_params')}")
    for i, size in enumerate(dims):
        result = create_lstm(
            model, input_blob, seq_lengths, initial_states, dim_in, size,
            scope=scope if i == 0 else f"{scope}_layer_{i}", **kwargs)
        input_blob, dim_in = result[0], size
        initial_states = (result[1], result[3])
    return result


layered_LSTM = functools.partial(_layered_LSTM, create_lstm=LSTM)


def GetLSTMParamNames() -> dict[str, list[str]]:
    """The names of the parameters of the four gates, in the order of LSTMUnit."""
    gates = ["input_gate", "forget_gate", "output_gate", "cell"]
    return {"weights": [gate + "_w" for gate in gates], "biases": [gate + "_b" for gate in gates]}


def InitFromLSTMParams(lstm_pblobs: Mapping[str, Mapping[str, BlobLike]],
                       param_values: Mapping[str, Mapping[str, np.ndarray]]) -> None:
    """Feeds the parameters of an LSTM from arrays for each gate.

    Args:
      lstm_pblobs: {"input": {"weights": blob, "biases": blob}, "recurrent": ...}, as return_params
        gives them.
      param_values: {"input": {name of GetLSTMParamNames: array}, "recurrent": ...}.
    """
    for part, values in param_values.items():
        for kind, names in GetLSTMParamNames().items():
            blob = lstm_pblobs[part][kind]
            joined = np.concatenate([np.ravel(values[name]) for name in names])
            shape = workspace.FetchBlob(blob).shape
            workspace.FeedBlob(blob, joined.reshape(shape).astype(np.float32))
