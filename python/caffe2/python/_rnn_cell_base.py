"""The base of the cells of recurrent networks; public through caffe2.python.rnn_cell."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Protocol

from caffe2.python import core, recurrent, scope
from caffe2.python._core.blob_reference import BlobLike
from caffe2.python.model_helper import ModelHelper
from caffe2.python.modeling.initializers import Initializer

# Blobs [1, N, E] that a step reads besides its prepared input, each with E.
ExtraInputs = Sequence[tuple[BlobLike, int]]


class StateInitializer(Protocol):
    """Makes the initial states of a cell."""

    def create_states(self, model: ModelHelper) -> Sequence[BlobLike]:
        """The blobs of the states, in order."""


def _RectifyName(blob_reference_or_name):
    """A BlobReference under the current name scope, to which later scopes add nothing; None for
    None.

    Raises TypeError for anything that is not a blob.
    """
    if blob_reference_or_name is None or isinstance(blob_reference_or_name, core.BlobReference):
        return blob_reference_or_name
    if isinstance(blob_reference_or_name, str):
        return core.ScopedBlobReference(blob_reference_or_name)
    raise TypeError(f"a blob is a string or a BlobReference, not {blob_reference_or_name!r}")


def _RectifyNames(blob_references_or_names):
    if blob_references_or_names is None:
        return None
    return [_RectifyName(blob) for blob in blob_references_or_names]


class RNNCell:
    """One step of a recurrent network.

    A cell defines apply_override and get_state_names_override. Override prepare_input and the
    _prepare_output methods for work that does not depend on the state.

    Attributes:
      name: scope of the cell's blobs and parameters, or None.
      initializer: object whose create_states(model) makes the initial states by default.
      recompute_blobs: blobs of a step that the backward pass computes again instead of keeping.
    """

    def __init__(self, name: str | None = None, forward_only: bool = False,
                 initializer: StateInitializer | None = None) -> None:
        self.name = name
        self.recompute_blobs: list[BlobLike] = []
        self.forward_only = forward_only
        self.initializer = initializer

    def scope(self, name: str) -> str:
        """The name after the name of the cell: "lstm/name"."""
        return self.name + "/" + name if self.name is not None else name

    def _initial_states(self, model):
        if self.initializer is None:
            raise ValueError(f"cell {self.name} needs initial states or an initializer")
        with scope.NameScope(self.name):
            return self.initializer.create_states(model)

    def apply_over_sequence(
            self, model: ModelHelper, inputs: BlobLike, seq_lengths: BlobLike | None = None,
            initial_states: Sequence[BlobLike] | None = None,
            outputs_with_grads: Sequence[int] | None = None,
            ) -> tuple[core.BlobReference, Sequence[core.BlobReference]]:
        """Adds to a model the cell, run over a sequence.

        Args:
          inputs: the sequence [T, N, D].
          seq_lengths: blob [N], int32: the number of steps of each sequence. Default: T for all.
          initial_states: a blob for each state: [N, H], [1, N, H], or [H] for the whole batch.
            Default: the states that the initializer creates.
          outputs_with_grads: positions, in the second result, of the blobs that will have
            gradients; default: the output over all steps.

        Returns the output [T, N, H], and for each state two blobs: over all steps and the last.
        Raises ValueError if the number of initial states is wrong.
        """
        if initial_states is None:
            initial_states = self._initial_states(model)
        preprocessed = self.prepare_input(model, inputs)
        step_model = ModelHelper(name=self.name, param_model=model)
        input_t, timestep = step_model.net.AddScopedExternalInputs("input_t", "timestep")
        names = self.get_state_names()
        if len(initial_states) != len(names):
            raise ValueError(f"cell {self.name} has states {list(names)}, but {initial_states} "
                             "were given for them")
        previous = [step_model.net.AddScopedExternalInputs(name + "_prev") for name in names]
        states = self._apply(
            model=step_model, input_t=input_t, seq_lengths=seq_lengths, states=previous,
            timestep=timestep)
        outputs = set(step_model.net.Proto().external_output)
        for state in states:
            if str(state) not in outputs:
                step_model.net.AddExternalOutput(state)
        if outputs_with_grads is None:
            outputs_with_grads = [2 * self.get_output_state_index()]
        all_states = recurrent.recurrent_net(
            net=model.net, cell_net=step_model.net, inputs=[(input_t, preprocessed)],
            initial_cell_inputs=list(zip(previous, initial_states)),
            links=dict(zip(previous, states)), timestep=timestep, scope=self.name,
            forward_only=self.forward_only, outputs_with_grads=outputs_with_grads,
            recompute_blobs_on_backward=self.recompute_blobs)
        return self._prepare_output_sequence(model, all_states), all_states

    def apply(self, model: ModelHelper, input_t: BlobLike, seq_lengths: BlobLike | None,
              states: Sequence[BlobLike],
              timestep: BlobLike) -> tuple[core.BlobReference, Sequence[core.BlobReference]]:
        """Adds one step to a model, for an input [1, N, D] and states [1, N, H]. Returns (output
        [1, N, H], new states)."""
        input_t = self.prepare_input(model, input_t)
        next_states = self._apply(model, input_t, seq_lengths, states, timestep)
        return self._prepare_output(model, next_states), next_states

    def _apply(self, model, input_t, seq_lengths, states, timestep, extra_inputs=None):
        """apply_override, under the cell's name scope; its inputs are named outside of it."""
        arguments = self._rectify_apply_inputs(
            input_t, seq_lengths, states, timestep, extra_inputs)
        with core.NameScope(self.name):
            return self.apply_override(model, *arguments)

    def _rectify_apply_inputs(self, input_t, seq_lengths, states, timestep, extra_inputs):
        rectified = [_RectifyName(input_t), _RectifyName(seq_lengths), _RectifyNames(states),
                     _RectifyName(timestep)]
        if "extra_inputs" in inspect.signature(self.apply_override).parameters:
            rectified.append(extra_inputs and [
                (_RectifyName(blob), size) for blob, size in extra_inputs])
        return rectified

    def apply_override(self, model: ModelHelper, input_t: core.BlobReference,
                       seq_lengths: core.BlobReference | None, states: Sequence[core.BlobReference],
                       timestep: core.BlobReference,
                       extra_inputs: ExtraInputs | None = None) -> Sequence[core.BlobReference]:
        """Adds the operators of one step.

        Args:
          model: the model of the step.
          input_t: the prepared input [1, N, ...].
          states: the states after the previous step, in the order of get_state_names_override.
          timestep: the number of the step, for units that stop at seq_lengths.
          extra_inputs: [(blob [1, N, E], E)]: further inputs, which prepare_input does not get,
            such as the context of attention.

        Returns the new states.
        """
        raise NotImplementedError(f"{type(self).__name__} has no apply_override")

    def prepare_input(self, model: ModelHelper, input_blob: BlobLike) -> BlobLike:
        """Adds the operators that depend on the input only, for all steps (or one) at once."""
        return input_blob

    def get_output_state_index(self) -> int:
        """The index of the state that is the output."""
        return 0

    def get_state_names(self) -> list[str]:
        """The names of the states, in order, each after the name of the cell."""
        return [self.scope(name) for name in self.get_state_names_override()]

    def get_state_names_override(self) -> list[str]:
        """Names of the states, without the cell's scope."""
        raise NotImplementedError(f"{type(self).__name__} has no get_state_names_override")

    def get_output_dim(self) -> int:
        """The number of units of the output."""
        raise NotImplementedError(f"{type(self).__name__} has no get_output_dim")

    def _prepare_output(self, model, states):
        """The output of one step, from its states."""
        return states[self.get_output_state_index()]

    def _prepare_output_sequence(self, model, state_outputs):
        """The output of all steps, from two blobs for each state."""
        return state_outputs[2 * self.get_output_state_index()]


class _ZeroStates:
    """Trained initial states that start at zero."""

    def __init__(self, hidden_size: int, names: Sequence[str]) -> None:
        self.hidden_size = hidden_size
        self._names = names

    def create_states(self, model: ModelHelper) -> list[core.BlobReference]:
        return [
            model.create_param(
                param_name=name, shape=[self.hidden_size],
                initializer=Initializer(operator_name="ConstantFill", value=0.0))
            for name in self._names]


class BasicRNNInitializer(_ZeroStates):
    """Makes initial_hidden_state [hidden_size]."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__(hidden_size, ["initial_hidden_state"])


class LSTMInitializer(_ZeroStates):
    """Makes initial_hidden_state and initial_cell_state [hidden_size]."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__(hidden_size, ["initial_hidden_state", "initial_cell_state"])
