"""The gated recurrent unit (K. Cho et al., arXiv:1406.1078)."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from caffe2.python import brew, core, rnn_cell
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper


class GRUCell(rnn_cell.RNNCell):
    """h = u h_prev + (1 - u) tanh(W_o (r h_prev) + x_o), with r and u the reset and update gates.

    The matrix product after the reset gate does not fit into one operator: the step net consists of
    several operators and GRUUnit. With linear_before_reset the candidate is tanh(r (W_o h_prev) +
    x_o), as in cuDNN. H is hidden_size, D is input_size. forget_bias and memory_optimization have
    no effect.
    """

    def __init__(self, input_size: int, hidden_size: int, forget_bias: float,
                 memory_optimization: bool, drop_states: bool = False,
                 linear_before_reset: bool = False,
                 initializer: rnn_cell.StateInitializer | None = None, **kwargs: Any) -> None:
        super().__init__(
            initializer=initializer or rnn_cell.BasicRNNInitializer(hidden_size), **kwargs)
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.forget_bias = float(forget_bias)
        self.memory_optimization = memory_optimization
        self.drop_states = drop_states
        self.linear_before_reset = linear_before_reset

    def _gate(self, model, state, name):
        return brew.fc(
            model, state, name, dim_in=self.hidden_size, dim_out=self.hidden_size, axis=2)

    def apply_override(
            self, model: ModelHelper, input_t: core.BlobReference,
            seq_lengths: core.BlobReference | None, states: Sequence[core.BlobReference],
            timestep: core.BlobReference,
            extra_inputs: rnn_cell.ExtraInputs | None = None) -> Sequence[core.BlobReference]:
        """One step, from input_t [1, N, 3 H] and the state [1, N, H]. Returns the new state."""
        hidden_t_prev = states[0]
        input_t_reset, input_t_update, input_t_output = model.net.Split(
            [input_t], ["input_t_reset", "input_t_update", "input_t_output"], axis=2)
        reset_gate_t = self._gate(model, hidden_t_prev, "reset_gate_t")
        update_gate_t = self._gate(model, hidden_t_prev, "update_gate_t")
        reset_gate_t = model.net.Sum([reset_gate_t, input_t_reset], reset_gate_t)
        reset = model.net.Sigmoid(reset_gate_t, "reset_gate_t_sigmoid")
        if self.linear_before_reset:
            output_gate_t = self._gate(model, hidden_t_prev, "output_gate_t")
            output_gate_t = model.net.Mul([reset, output_gate_t], "output_gate_t_mul")
        else:
            modified = model.net.Mul([reset, hidden_t_prev], "modified_hidden_t_prev")
            output_gate_t = self._gate(model, modified, "output_gate_t")
        update_gate_t = model.net.Sum([update_gate_t, input_t_update], update_gate_t)
        output_gate_t = model.net.Sum([output_gate_t, input_t_output], "output_gate_t_summed")
        gates_t, _ = model.net.Concat(
            [reset_gate_t, update_gate_t, output_gate_t], ["gates_t", "_gates_t_concat_dims"],
            axis=2)
        inputs = [hidden_t_prev, gates_t]
        inputs += [timestep] if seq_lengths is None else [seq_lengths, timestep]
        hidden_t = model.net.GRUUnit(
            inputs, ["hidden_t"], forget_bias=self.forget_bias, drop_states=self.drop_states,
            sequence_lengths=(seq_lengths is not None))
        model.net.AddExternalOutputs(hidden_t)
        return (hidden_t,)

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> core.BlobReference:
        """The fully connected layer "i2h" of the sequence [T, N, D]: [T, N, 3 H]."""
        return brew.fc(model, input_blob, self.scope("i2h"), dim_in=self.input_size,
                       dim_out=3 * self.hidden_size, axis=2)

    def get_state_names_override(self) -> list[str]:
        """The one state, the output."""
        return ["hidden_t"]

    def get_output_dim(self) -> int:
        """The size H of the output."""
        return self.hidden_size


GRU = functools.partial(rnn_cell._LSTM, GRUCell)
