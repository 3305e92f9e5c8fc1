"""A recurrent network with random inputs, ready to run; for tests of cells."""

from __future__ import annotations

import numpy as np

from caffe2.python import scope, workspace
from caffe2.python.model_helper import ModelHelper


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x)), for arrays."""
    return 1.0 / (1.0 + np.exp(-x))


def tanh(x: np.ndarray) -> np.ndarray:
    """The hyperbolic tangent, for arrays."""
    return np.tanh(x)


def _prepare_rnn(t, n, dim_in, create_rnn, outputs_with_grads, forget_bias, memory_optim=False,
                 forward_only=False, drop_states=False, T=None, two_d_initial_states=None,
                 dim_out=None, num_states=2, **kwargs):
    """Makes a network by `create_rnn` (with the arguments of rnn_cell.LSTM) under a name scope,
    initializes its parameters, and feeds random states and lengths; the caller feeds the input.

    Args:
      t, n, dim_in: the shape of the input: steps, batch and width.
      T: the number of steps to unroll statically; default: not unrolled.
      two_d_initial_states: states are [n, dim], not [1, n, dim]; default: drawn at random.
      dim_out: list of the widths of the layers; default: one layer, as wide as the input.
      num_states: the number of states of each layer.

    Returns (outputs of create_rnn, net, [state blobs..., input blob]).
    """
    dim_out = dim_out or [dim_in]
    flat = np.random.randint(2) if two_d_initial_states is None else two_d_initial_states
    shapes = {f"state_{i}/layer_{layer}": (n, width) if flat else (1, n, width)
              for layer, width in enumerate(dim_out) for i in range(num_states)}
    model = ModelHelper("external")
    net = model.net
    states = [net.AddExternalInput(name) for name in shapes]
    with scope.NameScope("test_name_scope"):
        sequence, lengths = net.AddScopedExternalInputs("input_blob", "seq_lengths")
        outputs = create_rnn(
            model, sequence, lengths, states, dim_in=dim_in, dim_out=dim_out,
            scope="external/recurrent", outputs_with_grads=outputs_with_grads,
            memory_optimization=memory_optim, forget_bias=forget_bias, forward_only=forward_only,
            drop_states=drop_states, static_rnn_unroll_size=T, **kwargs)
    workspace.RunNetOnce(model.param_init_net)
    for name, shape in shapes.items():
        workspace.FeedBlob(name, np.random.standard_normal(shape).astype(np.float32))
    workspace.FeedBlob(lengths, np.random.randint(1, t + 1, n).astype(np.int32))
    return outputs, net, [*states, sequence]
