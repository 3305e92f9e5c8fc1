"""Cells made of other cells; public through caffe2.python.rnn_cell."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import attention, brew, core, scope
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python._rnn_cell_base import ExtraInputs, RNNCell, _RectifyName, _RectifyNames
from caffe2.python.attention import AttentionType
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.parameter_sharing import ParameterSharing


class DropoutCell(RNNCell):
    """A cell with dropout on its output, but not on its state."""

    def __init__(self, internal_cell: RNNCell, dropout_ratio: float | None = None,
                 use_cudnn: bool = False, *, is_test: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.internal_cell = internal_cell
        self.dropout_ratio = dropout_ratio
        self.is_test = is_test
        self.use_cudnn = use_cudnn
        self.initializer = self.initializer or internal_cell.initializer
        self.mask = 0

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> BlobLike:
        """The prepare_input of the inner cell."""
        return self.internal_cell.prepare_input(model, input_blob)

    def get_output_state_index(self) -> int:
        """The index of the inner cell's output among its states."""
        return self.internal_cell.get_output_state_index()

    def get_state_names(self) -> list[str]:
        """The names of the states of the inner cell."""
        return self.internal_cell.get_state_names()

    def get_output_dim(self) -> int:
        """The size of the inner cell's output."""
        return self.internal_cell.get_output_dim()

    def _apply(self, model, input_t, seq_lengths, states, timestep, extra_inputs=None):
        return self.internal_cell._apply(
            model, input_t, seq_lengths, states, timestep, extra_inputs)

    def _prepare_output(self, model, states):
        return self._dropout(model, self.internal_cell._prepare_output(model, states))

    def _prepare_output_sequence(self, model, state_outputs):
        return self._dropout(
            model, self.internal_cell._prepare_output_sequence(model, state_outputs))

    def _dropout(self, model, output):
        if not self.dropout_ratio or self.forward_only:
            return output
        with core.NameScope(self.name or ""):
            output = brew.dropout(
                model, output, f"{output}_with_dropout_mask{self.mask}",
                ratio=float(self.dropout_ratio), is_test=self.is_test, use_cudnn=self.use_cudnn)
        self.mask += 1
        return output


class MultiRNNCellInitializer:
    """Makes the initial states of all layers, with their initializers."""

    def __init__(self, cells: Sequence[RNNCell]) -> None:
        self.cells = cells

    def create_states(self, model: ModelHelper) -> list[core.BlobReference]:
        """The initial states of all cells, in order, each under the name scope layer_<i>."""
        states = []
        for i, cell in enumerate(self.cells):
            with core.NameScope(f"layer_{i}"):
                states.extend(cell._initial_states(model))
        return states


class MultiRNNCell(RNNCell):
    """Layers: the output of each cell is the input of the next.

    Names of layer i are under "<name>/layer_<i>/". Blobs that layer 0 computes from the input of
    all steps at once are under "<name>/". The layers in `residual_output_layers` (not layer 0) add
    their input to their output.
    """

    def __init__(self, cells: Sequence[RNNCell],
                 residual_output_layers: Collection[int] | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.cells = cells
        self.residual_output_layers = residual_output_layers or []
        self._state_counts = [len(cell.get_state_names()) for cell in cells]
        # The output is the sum of the last layers that are connected by residuals.
        first = len(cells) - 1
        while first > 0 and first in self.residual_output_layers:
            first -= 1
        self.output_connected_layers = list(range(first, len(cells)))
        self.output_indices = [
            sum(self._state_counts[:i]) + cells[i].get_output_state_index()
            for i in self.output_connected_layers]
        self.state_names = [
            self.layer_scoper(i)(name) for i, cell in enumerate(cells)
            for name in cell.get_state_names()]
        self.initializer = MultiRNNCellInitializer(cells)

    def layer_scoper(self, layer_id: int) -> Callable[[str], str]:
        """A function that puts the names of this cell and of a layer before a name."""
        return lambda name: f"{self.name}/layer_{layer_id}/{name}"

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> BlobLike:
        """Applies prepare_input of the first layer to the sequence [T, N, D_in]."""
        input_blob = _RectifyName(input_blob)
        with core.NameScope(self.name or ""):
            return self.cells[0].prepare_input(model, input_blob)

    def _by_layer(self, states, each=1):
        """The list of states (`each` blobs for one) cut into layers."""
        parts, begin = [], 0
        for count in self._state_counts:
            parts.append(states[begin:begin + each * count])
            begin += each * count
        return parts

    def _apply(self, model, input_t, seq_lengths, states, timestep, extra_inputs=None):
        if len(states) != sum(self._state_counts):
            raise ValueError(f"{len(states)} states were given for {self.state_names}")
        input_t, seq_lengths, states, timestep, extra_inputs = self._rectify_apply_inputs(
            input_t, seq_lengths, states, timestep, extra_inputs)
        next_states, layer_input = [], input_t
        for i, (cell, layer_states) in enumerate(zip(self.cells, self._by_layer(states))):
            with core.NameScope(self.name or ""), core.NameScope(f"layer_{i}"):
                prepared = cell.prepare_input(model, layer_input) if i > 0 else layer_input
                layer_states = cell._apply(
                    model, prepared, seq_lengths, layer_states, timestep,
                    extra_inputs=None if i > 0 else extra_inputs)
                next_states.extend(layer_states)
                if i + 1 == len(self.cells):
                    continue
                output = cell._prepare_output(model, layer_states)
                if i > 0 and i in self.residual_output_layers:
                    output = brew.sum(
                        model, [output, layer_input], self.scope(f"residual_output_{i}"))
                layer_input = output
        return next_states

    def apply_override(self, model: ModelHelper, input_t: core.BlobReference,
                       seq_lengths: core.BlobReference | None, states: Sequence[core.BlobReference],
                       timestep: core.BlobReference,
                       extra_inputs: ExtraInputs | None = None) -> list[core.BlobReference]:
        """Adds one step of all layers. Returns their new states, in order."""
        return self._apply(model, input_t, seq_lengths, states, timestep, extra_inputs)

    def get_state_names(self) -> list[str]:
        """Names of the states of all layers, in order."""
        return self.state_names

    def get_output_state_index(self) -> int:
        """The index of the last layer's output among all states."""
        return sum(self._state_counts[:-1]) + self.cells[-1].get_output_state_index()

    def get_output_dim(self) -> int:
        """The size D of the last layer's output."""
        return self.cells[-1].get_output_dim()

    def _sum_outputs(self, model, outputs, name):
        return brew.sum(model, outputs, self.scope(name)) if len(outputs) > 1 else outputs[0]

    def _prepare_output(self, model, states):
        layers = self._by_layer(states)
        outputs = [self.cells[i]._prepare_output(model, layers[i])
                   for i in self.output_connected_layers]
        return self._sum_outputs(model, outputs, "residual_output")

    def _prepare_output_sequence(self, model, states):
        layers = self._by_layer(states, each=2)
        outputs = [self.cells[i]._prepare_output_sequence(model, layers[i])
                   for i in self.output_connected_layers]
        return self._sum_outputs(model, outputs, "residual_output_sequence")


class AttentionCell(RNNCell):
    """A decoder cell that attends to the outputs of an encoder.

    The decoder also reads the context of the previous step. Its output is joined with the context
    of its own step. See caffe2.python.attention.

    Args:
      encoder_output_dim, encoder_outputs: E and the blob [L, N, E].
      encoder_lengths: blob [N], int32: encoder steps to attend to; None: all.
      decoder_cell, decoder_state_dim: the cell, and the number of units of its output.
      attention_type: one of AttentionType.
      weighted_encoder_outputs: blob [L, N, E] to compare with the state; default: a fully connected
        layer on encoder_outputs.
      attention_memory_optimization: True to recompute blobs of size [L, N, E] for the gradient.
    """

    def __init__(self, encoder_output_dim: int, encoder_outputs: BlobLike,
                 encoder_lengths: BlobLike | None, decoder_cell: RNNCell, decoder_state_dim: int,
                 attention_type: int, weighted_encoder_outputs: BlobLike | None,
                 attention_memory_optimization: bool, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if attention_type not in (AttentionType.Regular, AttentionType.Recurrent,
                                  AttentionType.Dot, AttentionType.SoftCoverage):
            raise ValueError(f"unknown attention type {attention_type}")
        self.encoder_output_dim = encoder_output_dim
        self.encoder_outputs = encoder_outputs
        self.encoder_lengths = encoder_lengths
        self.decoder_cell = decoder_cell
        self.decoder_state_dim = decoder_state_dim
        self.weighted_encoder_outputs = weighted_encoder_outputs
        self.encoder_outputs_transposed: BlobLike | None = None
        self.attention_type = attention_type
        self.attention_memory_optimization = attention_memory_optimization
        # States after the decoder's: the context and, with SoftCoverage, the coverage.
        self._own_states = 2 if attention_type == AttentionType.SoftCoverage else 1

    def _attention(self, model, context_prev, coverage_prev):
        arguments = {
            "model": model, "encoder_output_dim": self.encoder_output_dim,
            "encoder_outputs_transposed": self.encoder_outputs_transposed,
            "decoder_hidden_state_t": self.hidden_t_intermediate,
            "decoder_hidden_state_dim": self.decoder_state_dim, "scope": self.name,
            "encoder_lengths": self.encoder_lengths,
        }
        if self.attention_type == AttentionType.Dot:
            return attention.apply_dot_attention(**arguments)
        arguments["weighted_encoder_outputs"] = self.weighted_encoder_outputs
        if self.attention_type == AttentionType.Regular:
            return attention.apply_regular_attention(**arguments)
        if self.attention_type == AttentionType.Recurrent:
            return attention.apply_recurrent_attention(
                attention_weighted_encoder_context_t_prev=context_prev, **arguments)
        return attention.apply_soft_coverage_attention(
            coverage_t_prev=coverage_prev, coverage_weights=self.coverage_weights, **arguments)

    def _apply(self, model, input_t, seq_lengths, states, timestep, extra_inputs=None):
        if extra_inputs is not None:
            raise ValueError("a cell with attention takes no further inputs")
        decoder_states = states[:-self._own_states]
        context_prev, coverage_prev = states[-self._own_states], states[-1]
        decoder_states = self.decoder_cell._apply(
            model, input_t, seq_lengths, decoder_states, timestep,
            extra_inputs=[(context_prev, self.encoder_output_dim)])
        self.hidden_t_intermediate = self.decoder_cell._prepare_output(model, decoder_states)
        context, self.attention_weights_3d, recomputable, *coverage = self._attention(
            model, context_prev, coverage_prev)
        if self.attention_memory_optimization:
            self.recompute_blobs.extend(recomputable)
        output = [*decoder_states, context, *coverage]
        index = self.get_output_state_index()
        output[index] = model.Copy(output[index], self.scope("hidden_t_external"))
        model.net.AddExternalOutputs(*output)
        return output

    def get_attention_weights(self) -> core.BlobReference:
        """The weights of one step [N, L, 1], a blob of the step net."""
        return self.attention_weights_3d

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> BlobLike:
        """Prepares the encoder's outputs, once. Returns the decoder's prepare_input of the sequence
        [T, N, D_in]."""
        if self.encoder_outputs_transposed is None:
            self.encoder_outputs_transposed = brew.transpose(
                model, self.encoder_outputs, self.scope("encoder_outputs_transposed"),
                axes=[1, 2, 0])
        if self.weighted_encoder_outputs is None and self.attention_type != AttentionType.Dot:
            self.weighted_encoder_outputs = self._project_encoder(
                model, "weighted_encoder_outputs")
        return self.decoder_cell.prepare_input(model, input_blob)

    def _project_encoder(self, model, name):
        return brew.fc(
            model, self.encoder_outputs, self.scope(name), dim_in=self.encoder_output_dim,
            dim_out=self.encoder_output_dim, axis=2)

    def build_initial_coverage(self, model: ModelHelper) -> core.BlobReference:
        """The initial state of the coverage, zeros [L]. Also makes the weights of soft coverage.
        Call it before the cell is applied."""
        if self.attention_type != AttentionType.SoftCoverage:
            raise ValueError("only soft coverage has a coverage")
        self.coverage_weights = self._project_encoder(model, "coverage_weights")
        shape = model.net.Shape(self.encoder_outputs)  # in host memory, whatever the device
        with core.DeviceScope(core.DeviceOption(caffe2_pb2.CPU)):
            length = model.net.Slice(shape, starts=[0], ends=[1])
        return model.net.ConstantFill(
            length, self.scope("initial_coverage"), value=0.0, input_as_shape=1)

    def get_state_names(self) -> list[str]:
        """The names of the decoder's states, the context and, with soft coverage, the coverage."""
        names = list(self.decoder_cell.get_state_names())
        names[self.get_output_state_index()] = self.scope("hidden_t_external")
        names.append(self.scope("attention_weighted_encoder_context_t"))
        if self.attention_type == AttentionType.SoftCoverage:
            names.append(self.scope("coverage_t"))
        return names

    def get_output_dim(self) -> int:
        """The size of the output: the decoder's state plus an encoder's output."""
        return self.decoder_state_dim + self.encoder_output_dim

    def get_output_state_index(self) -> int:
        """The index of the decoder's output among the states."""
        return self.decoder_cell.get_output_state_index()

    def _join(self, model, decoder_output, context):
        with core.NameScope(self.name or ""):
            return brew.concat(
                model, [decoder_output, context], "states_and_context_combination", axis=2)

    def _prepare_output(self, model, states):
        return self._join(model, self.hidden_t_intermediate, states[-self._own_states])

    def _prepare_output_sequence(self, model, state_outputs):
        own = 2 * self._own_states
        decoder_output = self.decoder_cell._prepare_output_sequence(model, state_outputs[:-own])
        return self._join(model, decoder_output, state_outputs[-own])


class UnrolledCell(RNNCell):
    """A cell over sequences of exactly T steps, each with operators of its own in the net.

    Blobs of step t are under "timestep_<t>/". All steps share their parameters.
    """

    def __init__(self, cell: RNNCell, T: int) -> None:
        super().__init__(cell.name, cell.forward_only, cell.initializer)
        self.T = T
        self.cell = cell

    def __getattr__(self, name: str) -> Any:
        if name == "cell":  # not set yet, as while copying
            raise AttributeError(name)
        return getattr(self.cell, name)

    def apply_over_sequence(  # type: ignore[override]  # needs initial states
            self, model: ModelHelper, inputs: BlobLike, seq_lengths: BlobLike | None,
            initial_states: Sequence[BlobLike], outputs_with_grads: Sequence[int] | None = None,
            ) -> tuple[core.BlobReference, Sequence[core.BlobReference]]:
        """As RNNCell.apply_over_sequence; initial states are [1, N, H]."""
        inputs = self.cell.prepare_input(model, inputs)
        step_inputs = model.net.Split(
            inputs, [f"{inputs}_timestep_{t}" for t in range(self.T)], axis=0)
        step_inputs = [step_inputs] if self.T == 1 else step_inputs
        states, seq_lengths = _RectifyNames(initial_states), _RectifyName(seq_lengths)
        all_states = []
        for t in range(self.T):
            step = f"timestep_{t}"
            with ParameterSharing({step: ""}), scope.NameScope(step):
                timestep = model.param_init_net.ConstantFill(
                    [], "timestep", value=t, shape=[1], dtype=core.DataType.INT32,
                    device_option=core.DeviceOption(caffe2_pb2.CPU))
                states = self.cell._apply(
                    model=model, input_t=step_inputs[t], seq_lengths=seq_lengths, states=states,
                    timestep=timestep)
            all_states.append(states)
        outputs = []
        for state_of_steps in zip(*all_states):
            name = str(state_of_steps[0]).replace("timestep_0/", "", 1)
            joined, _ = model.net.Concat(
                list(state_of_steps),
                [core.BlobReference(name + "_concat"), core.BlobReference(name + "_concat_info")],
                axis=0)
            outputs += [joined, state_of_steps[-1]]
        if outputs_with_grads is None:
            outputs_with_grads = [2 * self.cell.get_output_state_index()]
        for i in set(range(len(outputs))) - set(outputs_with_grads):
            model.net.ZeroGradient(outputs[i], [])
        return self.cell._prepare_output_sequence(model, outputs), tuple(outputs)
