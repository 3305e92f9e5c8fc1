"""Recurrent networks: a net for one step, run over a sequence by the operator RecurrentNetwork."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from caffe2.proto import caffe2_pb2
from caffe2.python import core, workspace
from caffe2.python._core.blob_reference import BlobLike


def _unzip(triples):
    """Three lists of strings, strings and numbers from a list of triples."""
    names, others, numbers = zip(*triples) if triples else ((), (), ())
    return [str(name) for name in names], [str(other) for other in others], list(numbers)


def _recomputed_operators(cell_net, blobs):
    """The operators of the cell net that make `blobs`, in their order.

    Raises ValueError if one of them makes other blobs, too, which would be computed twice.
    """
    blobs = {str(blob) for blob in blobs}
    operators = [op for op in cell_net.Proto().op if not blobs.isdisjoint(op.output)]
    for op in operators:
        if not blobs.issuperset(op.output):
            raise ValueError(
                f"{op.type} makes {sorted(set(op.output) - blobs)} beside blobs to recompute")
    return operators


class _BackwardStep:
    """The net that computes the gradients of one step, and the links of its blobs to blobs outside.

    Attributes:
      net: the net; every gradient that leaves it has a blob of its own.
      links: [(blob of the net, tensor outside, offset)].
      params, param_grads: the parameters that have a gradient, and the blobs of these in the net.
    """

    def __init__(self, cell_net, outputs, recomputed):
        self._cell_net = cell_net
        self._seeds = {str(output): str(output) + "_grad" for output in outputs}
        operators, gradients = core.GradientRegistry.GetBackwardPass(
            cell_net.Proto().op, self._seeds)
        self._gradients = {str(blob): gradient for blob, gradient in gradients.items()}
        self.net = core.Net("RecurrentBackwardStep")
        self.net.Proto().type = "simple"
        self.net._ExtendOps([*_recomputed_operators(cell_net, recomputed), *operators])
        self._taken = set(self._seeds.values())
        self.links = []
        self.params, self.param_grads = [], []

    def _own_gradient(self, blob, name):
        """The blob of the gradient of `blob`, or zeros if there is none. It is copied to `name` if
        it is the gradient of another blob, too (as of the inputs of a Sum)."""
        gradient = self._gradients.get(str(blob))
        if isinstance(gradient, core.GradientSlice):
            raise ValueError(f"{blob} has a sparse gradient, which is not summed over steps")
        if gradient is None:
            gradient = self.net.ConstantFill(core.BlobReference(str(blob)),
                                             core.BlobReference(name), value=0.0)
        elif str(gradient) in self._taken:
            gradient = self.net.Copy(core.BlobReference(str(gradient)), core.BlobReference(name))
        self._taken.add(str(gradient))
        return str(gradient)

    def link_state(self, cell_input, cell_output, states):
        gradient = self._own_gradient(cell_input, cell_input + "_grad")
        self.links.append((self._seeds[str(cell_output)], states + "_grad", 1))
        self.links.append((gradient, states + "_grad", 0))

    def link_sequence(self, input_t, sequence):
        gradient = self._own_gradient(input_t, str(input_t) + "_grad")
        self.links.append((gradient, str(sequence) + "_grad", 0))

    def add_params(self, references):
        for reference in references:
            if str(reference) in self._gradients:
                self.params.append(reference)
                self.param_grads.append(self._own_gradient(reference, str(reference) + "_grad"))

    def declare_inputs(self):
        """Declares the blobs of the forward step that the net reads as external inputs."""
        cell = self._cell_net.Proto()
        ssa, _ = core.get_ssa(self.net)
        made = {blob for op in cell.op for blob in op.output}
        read = core.get_undefined_blobs(ssa) & made
        wanted = [*sorted(read), *self._seeds.values(), *cell.external_input]
        for blob in dict.fromkeys(wanted):
            is_new = blob not in self.net.Proto().external_input
            if is_new and (blob in self._seeds.values() or not self.net.BlobIsDefined(blob)):
                self.net.AddExternalInput(core.BlobReference(blob))

    def arguments(self, all_inputs, outputs_with_grads, recomputed):
        internal, external, offset = _unzip(self.links)
        arguments = {
            "param": [all_inputs.index(param) for param in self.params],
            "param_grads": self.param_grads,
            "backward_link_internal": internal,
            "backward_link_external": external,
            "backward_link_offset": offset,
            "outputs_with_grads": outputs_with_grads,
            "recompute_blobs_on_backward": [str(blob) for blob in recomputed],
        }
        if self.net.Proto().op:
            arguments["backward_step_net"] = self.net.Proto()
        return arguments


def recurrent_net(net: core.Net, cell_net: core.Net, inputs: Sequence[tuple[BlobLike, BlobLike]],
                  initial_cell_inputs: Sequence[tuple[BlobLike, BlobLike]],
                  links: Mapping[Any, BlobLike], timestep: BlobLike | None = None,
                  scope: str | None = None, outputs_with_grads: Sequence[int] = (0,),
                  recompute_blobs_on_backward: Collection[BlobLike] | None = None,
                  forward_only: bool = False) -> Any:
    """Adds the operator RecurrentNetwork to a net.

    Args:
      net: the Net to add it to.
      cell_net: the Net of one step; all blobs that it reads, except the inputs, states and
        timestep, are parameters.
      inputs: [(blob of the cell net, sequence)], one pair. The sequence is [T, N, ...]: T steps of
        a batch of N.
      initial_cell_inputs: [(blob of the cell net, blob of the initial value)]: the states, as the
        step reads them. Values are [N, D], [1, N, D], or [D] for the whole batch.
      links: {blob of initial_cell_inputs: blob of the cell net that holds the state after a step}.
      timestep: the blob with the number of the step in the cell net; default "timestep".
      scope: prefix of the names of blobs for states; default: a new one.
      outputs_with_grads: results that will have gradients, by position.
      recompute_blobs_on_backward: blobs of the cell net that are not kept for the gradient but
        computed again.
      forward_only: True to build no gradient, which saves memory.

    Returns references to two blobs for each state: after all steps [T, N, D], and after the last
    [1, N, D]. Raises ValueError for more than one sequence, and if the gradient cannot be built.
    """
    if len(inputs) != 1:
        raise ValueError(f"a recurrent network reads one sequence, not {len(inputs)}")
    op_name = net.NextName("recurrent")
    prefix = str(op_name if scope is None else scope)
    recomputed = recompute_blobs_on_backward or []

    known = {str(blob) for pair in (*inputs, *initial_cell_inputs) for blob in pair[:1]}
    known |= {str(blob) for _, blob in (*inputs, *initial_cell_inputs)}
    if timestep is not None:
        known.add(str(timestep))
    references = [core.BlobReference(blob) for blob in cell_net.Proto().external_input
                  if blob not in known]
    all_inputs = [blob for _, blob in (*inputs, *initial_cell_inputs)] + references

    cell_net.Proto().type = "simple"
    backward = None
    if not forward_only:
        outputs = [links[str(cell_input)] for cell_input, _ in initial_cell_inputs]
        backward = _BackwardStep(cell_net, outputs, recomputed)

    forward_links: list[tuple[Any, Any, int]] = []
    aliases, recurrent_states = [], []
    for cell_input, _ in initial_cell_inputs:
        cell_output = core.BlobReference(str(links[str(cell_input)]))
        states = f"{prefix}/{cell_input}_states"
        recurrent_states.append(states)
        forward_links += [(cell_input, states, 0), (cell_output, states, 1)]
        aliases += [(states, cell_output + "_all", 1), (states, cell_output + "_last", -1)]
        if backward is not None:
            backward.link_state(str(cell_input), cell_output, states)
    for input_t, sequence in inputs:
        forward_links.append((input_t, sequence, 0))
        if backward is not None:
            backward.link_sequence(input_t, sequence)

    arguments = {}
    if backward is not None:
        backward.add_params(references)
        backward.declare_inputs()
        arguments = backward.arguments(all_inputs, outputs_with_grads, recomputed)
    link_internal, link_external, link_offset = _unzip(forward_links)
    alias_src, alias_dst, alias_offset = _unzip(aliases)
    results = net.RecurrentNetwork(
        all_inputs,
        [*(core.BlobReference(alias) for alias in alias_dst), f"{prefix}/step_workspaces"],
        alias_src=alias_src, alias_dst=alias_dst, alias_offset=alias_offset,
        recurrent_states=recurrent_states,
        initial_recurrent_state_ids=[all_inputs.index(blob) for _, blob in initial_cell_inputs],
        link_internal=link_internal, link_external=link_external, link_offset=link_offset,
        enable_rnn_executor=1,
        step_net=cell_net.Proto(),
        timestep="timestep" if timestep is None else str(timestep),
        **arguments)
    # The last output, the workspaces of the steps, is for the gradient only.
    return results[:-1]


def prepare_for_prediction(op: caffe2_pb2.OperatorDef,
                           device: caffe2_pb2.DeviceOption | None = None,
                           rename: Callable[[str], str] = lambda blob: blob) -> None:
    """Changes a RecurrentNetwork for prediction, in place: removes its backward step net, moves its
    step net to `device` (default: its own), and renames blobs."""
    kept = [arg for arg in op.arg
            if not arg.name.startswith("backward_") and arg.name != "param_grads"]
    for arg in kept:
        if arg.name in ("link_external", "link_internal", "alias_src", "alias_dst",
                        "recurrent_states"):
            names = [rename(name.decode()).encode() for name in arg.strings]
            arg.ClearField("strings")
            arg.strings.extend(names)
    step_net = next(arg.n for arg in kept if arg.name == "step_net")
    for part in (*step_net.op, step_net):
        fields = ("input", "output") if part is not step_net else (
            "external_input", "external_output")
        for field in fields:
            renamed = [rename(name) for name in getattr(part, field)]
            part.ClearField(field)
            getattr(part, field).extend(renamed)
    for step_op in step_net.op if device is not None else ():
        step_op.device_option.CopyFrom(device)
    kept = [type(arg).FromString(arg.SerializeToString()) for arg in kept]
    op.ClearField("arg")
    op.arg.extend(kept)


def set_rnn_executor_config(rnn_op: caffe2_pb2.OperatorDef, num_threads: int | None = None,
                            max_cuda_streams: int | None = None) -> None:
    """Sets the arguments of Caffe2's parallel executor on a RecurrentNetwork or its gradient. They
    have no effect here.

    Raises ValueError for another operator.
    """
    if rnn_op.type not in ("RecurrentNetwork", "RecurrentNetworkGradient"):
        raise ValueError(f"operator {rnn_op.type} runs no steps")
    for name, value in (("num_threads", num_threads), ("max_cuda_streams", max_cuda_streams)):
        if value is not None:
            rnn_op.arg.append(caffe2_pb2.Argument(name="rnn_executor." + name, i=value))


def retrieve_step_blobs(net: core.Net, prefix: str = "rnn") -> list[str]:
    """Copies the blobs of the steps of each RecurrentNetwork in a net to the current workspace.

    Returns the names of the copies: <prefix>_<blob><step>. Raises RuntimeError if the net has not
    run.
    """
    names = []
    recurrent = (op for op in net.Proto().op if op.type == "RecurrentNetwork")
    for count, op in enumerate(recurrent, 1):
        listing = f"{prefix}_{count}"
        workspace.RunOperatorOnce(core.CreateOperator(
            "RecurrentNetworkBlobFetcher", [core.BlobReference(op.output[-1])],
            [core.BlobReference(listing)], prefix=prefix,
            device_option=core.DeviceOption(caffe2_pb2.CPU)))
        names += workspace.FetchBlob(listing).tolist()
    return names
