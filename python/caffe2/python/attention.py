"""Attention over the outputs of an encoder, for the cells of caffe2.python.rnn_cell.

Shapes: L encoder steps, N batch, E encoder_output_dim. Every function takes the model of the step
net and a scope for names, and returns the blobs
  attention_weighted_encoder_context [1, N, E], the weighted mean of the encoder outputs,
  attention_weights_3d [N, L, 1], the weights,
and a list of blobs that are cheaper to recompute for the gradient than to keep.
Sources: D. Bahdanau et al., arXiv:1409.0473 (regular); arXiv:1601.03317 (recurrent); M. Luong et
al., arXiv:1508.04025 (dot); Z. Tu et al., arXiv:1601.04811 (soft coverage).
"""

from __future__ import annotations

from caffe2.python import brew
from caffe2.python._core.blob_reference import BlobLike, BlobReference
from caffe2.python.model_helper import ModelHelper

# The context, the weights, and the blobs to recompute.
Attention = tuple[BlobReference, BlobReference, list[BlobReference]]


class AttentionType:
    """The ways to compute the weights from the decoder's state."""

    Regular, Recurrent, Dot, SoftCoverage = range(4)


def _scoped(scope, name):
    """Full names: the blobs of a step net are not named by the name scope."""
    return f"{scope}/{name}"


def _weighted_context(model, encoder_outputs_transposed, encoder_output_dim, weights, scope):
    context = brew.batch_mat_mul(
        model, [encoder_outputs_transposed, weights],
        _scoped(scope, "attention_weighted_encoder_context"))  # [N, E, 1]
    context, _ = model.net.Reshape(
        context, [context, _scoped(scope, "attention_weighted_encoder_context_old_shape")],
        shape=[1, -1, encoder_output_dim])
    return context


def _weights(model, logits, scope, encoder_lengths):
    """The softmax of the logits [N, L, 1] over the encoder steps, up to encoder_lengths if
    given."""
    if encoder_lengths is not None:
        logits = model.net.SequenceMask(
            [logits, encoder_lengths], ["masked_attention_logits"], mode="sequence")
    return brew.softmax(
        model, logits, _scoped(scope, "attention_weights_3d"), engine="CUDNN", axis=1)


def _project(model, state, dim_in, dim_out, scope, name):
    """A fully connected layer on a state [1, N, dim_in], as [N, dim_out]."""
    output = brew.fc(model, state, _scoped(scope, name), dim_in=dim_in, dim_out=dim_out, axis=2)
    return model.net.Squeeze(output, output, dims=[0])


def _attend(model, logits, encoder_output_dim, encoder_outputs_transposed, scope,
            encoder_lengths):
    weights = _weights(model, logits, scope, encoder_lengths)
    context = _weighted_context(
        model, encoder_outputs_transposed, encoder_output_dim, weights, scope)
    return context, weights


def _attend_by_sum(model, total, encoder_output_dim, encoder_outputs_transposed, scope,
                   encoder_lengths):
    """Attends by the logits v . tanh(total), with `total` [L, N, E] overwritten."""
    activation = model.net.Tanh(total, total)
    logits = brew.fc(
        model, activation, _scoped(scope, "attention_logits"), dim_in=encoder_output_dim,
        dim_out=1, axis=2, freeze_bias=True)
    logits = brew.transpose(
        model, logits, _scoped(scope, "attention_logits_transposed"), axes=[1, 0, 2])
    context, weights = _attend(
        model, logits, encoder_output_dim, encoder_outputs_transposed, scope, encoder_lengths)
    return context, weights, [total]


def apply_recurrent_attention(
        model: ModelHelper, encoder_output_dim: int, encoder_outputs_transposed: BlobLike,
        weighted_encoder_outputs: BlobLike, decoder_hidden_state_t: BlobLike,
        decoder_hidden_state_dim: int, attention_weighted_encoder_context_t_prev: BlobLike,
        scope: str,
        encoder_lengths: BlobLike | None = None) -> Attention:
    """Weights from v . tanh(W_e encoder + W_c previous context + W_h hidden state)."""
    context = _project(
        model, attention_weighted_encoder_context_t_prev, encoder_output_dim, encoder_output_dim,
        scope, "weighted_prev_attention_context")
    hidden = _project(
        model, decoder_hidden_state_t, decoder_hidden_state_dim, encoder_output_dim, scope,
        "weighted_decoder_hidden_state")
    state = model.net.Add(
        [context, hidden], _scoped(scope, "decoder_hidden_encoder_outputs_sum_tmp"))
    total = model.net.Add(
        [weighted_encoder_outputs, state], _scoped(scope, "decoder_hidden_encoder_outputs_sum"),
        broadcast=1)
    return _attend_by_sum(
        model, total, encoder_output_dim, encoder_outputs_transposed, scope, encoder_lengths)


def apply_regular_attention(
        model: ModelHelper, encoder_output_dim: int, encoder_outputs_transposed: BlobLike,
        weighted_encoder_outputs: BlobLike, decoder_hidden_state_t: BlobLike,
        decoder_hidden_state_dim: int, scope: str,
        encoder_lengths: BlobLike | None = None) -> Attention:
    """Weights from v . tanh(W_e encoder + W_h hidden state)."""
    hidden = _project(
        model, decoder_hidden_state_t, decoder_hidden_state_dim, encoder_output_dim, scope,
        "weighted_decoder_hidden_state")
    total = model.net.Add(
        [weighted_encoder_outputs, hidden], _scoped(scope, "decoder_hidden_encoder_outputs_sum"),
        broadcast=1)
    return _attend_by_sum(
        model, total, encoder_output_dim, encoder_outputs_transposed, scope, encoder_lengths)


def apply_dot_attention(
        model: ModelHelper, encoder_output_dim: int, encoder_outputs_transposed: BlobLike,
        decoder_hidden_state_t: BlobLike, decoder_hidden_state_dim: int, scope: str,
        encoder_lengths: BlobLike | None = None) -> Attention:
    """Weights from encoder . hidden state, projected if their dimensions differ."""
    hidden = decoder_hidden_state_t
    if decoder_hidden_state_dim != encoder_output_dim:
        hidden = brew.fc(
            model, hidden, _scoped(scope, "weighted_decoder_hidden_state"),
            dim_in=decoder_hidden_state_dim, dim_out=encoder_output_dim, axis=2)
    squeezed = model.net.Squeeze(
        hidden, _scoped(scope, "squeezed_weighted_decoder_hidden_state"), dims=[0])
    expanded = model.net.ExpandDims(
        squeezed, _scoped(scope, "expanddims_squeezed_weighted_decoder_hidden_state"),
        dims=[2])  # [N, E, 1]
    logits = model.net.BatchMatMul(
        [encoder_outputs_transposed, expanded], _scoped(scope, "attention_logits"), trans_a=1)
    context, weights = _attend(
        model, logits, encoder_output_dim, encoder_outputs_transposed, scope, encoder_lengths)
    return context, weights, []


def apply_soft_coverage_attention(
        model: ModelHelper, encoder_output_dim: int, encoder_outputs_transposed: BlobLike,
        weighted_encoder_outputs: BlobLike, decoder_hidden_state_t: BlobLike,
        decoder_hidden_state_dim: int, scope: str, encoder_lengths: BlobLike | None,
        coverage_t_prev: BlobLike,
        coverage_weights: BlobLike) -> tuple[
            BlobReference, BlobReference, list[BlobReference], BlobReference]:
    """Regular attention that also reads how much each encoder step has been attended to.

    coverage_t_prev is [1, N, L], coverage_weights [L, N, E]. The new coverage is the fourth result.
    """
    hidden = _project(
        model, decoder_hidden_state_t, decoder_hidden_state_dim, encoder_output_dim, scope,
        "weighted_decoder_hidden_state")
    match = model.net.Add(
        [weighted_encoder_outputs, hidden],
        _scoped(scope, "decoder_hidden_encoder_outputs_sum_tmp"), broadcast=1)
    coverage = model.net.Squeeze(coverage_t_prev, _scoped(scope, "coverage_t_prev_2d"), dims=[0])
    coverage = brew.transpose(model, coverage, _scoped(scope, "coverage_t_prev_transposed"))
    scaled = model.net.Mul(
        [coverage_weights, coverage], _scoped(scope, "scaled_coverage_weights"), broadcast=1,
        axis=0)
    total = model.net.Add([match, scaled], _scoped(scope, "decoder_hidden_encoder_outputs_sum"))
    context, weights, hidden_encoder_sums = _attend_by_sum(
        model, total, encoder_output_dim, encoder_outputs_transposed, scope, encoder_lengths)
    weights_2d = model.net.Squeeze(weights, _scoped(scope, "attention_weights_2d"), dims=[2])
    coverage_t = model.net.Add(
        [coverage_t_prev, weights_2d], _scoped(scope, "coverage_t"), broadcast=1)
    return context, weights, hidden_encoder_sums, coverage_t
