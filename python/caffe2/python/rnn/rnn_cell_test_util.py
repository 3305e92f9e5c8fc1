"""A recurrent network with random inputs, ready to run; for tests of cells."""

import numpy as np

from caffe2.python import scope, workspace
from caffe2.python.model_helper import ModelHelper


def sigmoid(x):
    """1 / (1 + exp(-x)), for arrays."""
    return 1.0 / (1.0 + np.exp(-x))


def tanh(x):
    """The hyperbolic tangent, by way of the sigmoid."""
    return 2.0 * sigmoid(2.0 * x) - 1


def _prepare_rnn(t, n, dim_in, create_rnn, outputs_with_grads, forget_bias, memory_optim=False,
                 forward_only=False, drop_states=False, T=None, two_d_initial_states=None,
                 dim_out=None, num_states=2, **kwargs):
    """Makes a network by `create_rnn` (with the arguments of rnn_cell.LSTM) under a name scope,
    initializes its parameters, and feeds random states and lengths; the caller feeds the input.

    Args:
      t, n, dim_in: steps, batch and width of the input, [t, n, dim_in].
      T: steps to unroll statically; default: not unrolled.
      two_d_initial_states: states are [n, dim], not [1, n, dim]; default: drawn at random.
      dim_out: list of the widths of the layers; default: one, as wide as the input.
      num_states: states of each layer.

    Returns (outputs of create_rnn, net, [state blobs..., input blob]).
    """
    dim_out = [dim_in] if dim_out is None else dim_out
    if two_d_initial_states is None:
        two_d_initial_states = np.random.randint(2)
    model = ModelHelper(name="external")
    states = []
    for layer, width in enumerate(dim_out):
        for i in range(num_states):
            state = model.net.AddExternalInput(f"state_{i}/layer_{layer}")
            shape = (n, width) if two_d_initial_states else (1, n, width)
            workspace.FeedBlob(state, np.random.randn(*shape).astype(np.float32))
            states.append(state)
    with scope.NameScope("test_name_scope"):
        input_blob, seq_lengths = model.net.AddScopedExternalInputs("input_blob", "seq_lengths")
        outputs = create_rnn(
            model, input_blob, seq_lengths, states, dim_in=dim_in, dim_out=dim_out,
            scope="external/recurrent", outputs_with_grads=outputs_with_grads,
            memory_optimization=memory_optim, forget_bias=forget_bias, forward_only=forward_only,
            drop_states=drop_states, static_rnn_unroll_size=T, **kwargs)
    workspace.RunNetOnce(model.param_init_net)
    workspace.FeedBlob(seq_lengths, np.random.randint(1, t + 1, size=(n,)).astype(np.int32))
    return outputs, model.net, [*states, input_blob]
