#include "operators/recurrent/recurrent_network_op.h"

#include <algorithm>
#include <map>

namespace caffe2 {

std::string RecurrentDefinition(const OperatorDef& def) {
  std::string definition = ReadStepNet(def, "step_net").SerializeAsString();
  const auto recomputed =
      ArgumentHelper(def).GetRepeatedArgument<std::string>("recompute_blobs_on_backward");
  for (const std::string& blob : recomputed) definition += "\n" + blob;
  return definition;
}

REGISTER_CPU_OPERATOR(RecurrentNetwork, RecurrentNetworkOp<CPUContext>);

namespace {

// Outputs that are views of states: [T + L - offset, N, D] for a state [T + L, N, D].
std::vector<TensorShape> InferRecurrentNetwork(const OperatorDef& def,
                                               const std::vector<TensorShape>& in) {
  const ArgumentHelper arguments(def);
  const auto states = arguments.GetRepeatedArgument<std::string>("recurrent_states");
  const auto ids = arguments.GetRepeatedArgument<int>("initial_recurrent_state_ids");
  std::map<std::string, std::vector<int64_t>> state_dims;
  for (size_t i = 0; i < std::min(states.size(), ids.size()); ++i) {
    const std::vector<int64_t> sequence = GetDimsVector(in.at(0));
    const std::vector<int64_t> initial = GetDimsVector(in.at(ids[i]));
    CAFFE_ENFORCE(
        sequence.size() >= 2 && !initial.empty(),
        "the sequence must have at least two axes and the initial state one: their shapes are ",
        ShapeString(sequence), " and ", ShapeString(initial));
    state_dims[states[i]] = {sequence[0] + InitialLength(initial), sequence[1], initial.back()};
  }
  const auto source = arguments.GetRepeatedArgument<std::string>("alias_src");
  const auto target = arguments.GetRepeatedArgument<std::string>("alias_dst");
  const auto offset = arguments.GetRepeatedArgument<int>("alias_offset");
  std::vector<TensorShape> out(def.output_size(), UnknownTensorShape());
  for (size_t i = 0; i < std::min({source.size(), target.size(), offset.size()}); ++i) {
    const auto output = std::find(def.output().begin(), def.output().end(), target[i]);
    const auto state = state_dims.find(source[i]);
    if (output == def.output().end() || state == state_dims.end()) continue;
    std::vector<int64_t> dims = state->second;
    dims[0] = offset[i] >= 0 ? dims[0] - offset[i] : -offset[i];
    out[output - def.output().begin()] = CreateTensorShape(dims, in[0].data_type());
  }
  return out;
}

}  // namespace

OPERATOR_SCHEMA(RecurrentNetwork)
    .NumInputs(1, std::numeric_limits<int>::max())
    .NumOutputs(2, std::numeric_limits<int>::max())
    .TensorInferenceFunction(InferRecurrentNetwork)
    .SetDoc(
        "Runs a net once for each step of a sequence. The step net sees row t of the sequence and "
        "the states after step t - 1, and makes the states after step t; other inputs it sees "
        "whole. Steps run in order. The gradient runs a backward step net, which "
        "caffe2.python.recurrent makes.")
    .Arg<NetDef>("step_net", "The net of one step.", true)
    .ArgList<std::string>("recurrent_states",
                          "Blobs for the states: each is made as [T + 1, N, D], or [T + L, N, D] "
                          "for an initial value [L, N, D].")
    .ArgList<int>("initial_recurrent_state_ids",
                  "For each state the input that holds its initial value.")
    .ArgList<std::string>("link_internal",
                          "Blobs of the step net that are rows of tensors outside.")
    .ArgList<std::string>("link_external",
                          "For each of link_internal that tensor: the sequence or a state.")
    .ArgList<int>("link_offset",
                  "For each of link_internal the first row, counted from the step's number.")
    .ArgList<int>("link_window", "For each of link_internal the number of rows. Default 1.")
    .ArgList<std::string>("alias_src", "States of which outputs are views.")
    .ArgList<std::string>("alias_dst", "For each of alias_src the output.")
    .ArgList<int>("alias_offset", "For each of alias_src its first row; negative: from the end.")
    .Arg<std::string>(
        "timestep",
        "Name under which the step net sees the number of the step, one int32. Default timestep.")
    .Arg<NetDef>("backward_step_net",
                 "The net of one step of the gradient. Without it activations are not kept.")
    .ArgList<std::string>("backward_link_internal",
                          "As link_internal, of the backward step net, for gradients.")
    .ArgList<std::string>("backward_link_external", "As link_external, for gradients.")
    .ArgList<int>("backward_link_offset", "As link_offset, for gradients.")
    .ArgList<int>("backward_link_window", "As link_window, for gradients.")
    .ArgList<int>("param", "Inputs whose gradients are summed over the steps.")
    .ArgList<std::string>(
        "param_grads",
        "For each of `param` the blob of the backward step net that holds its gradient.")
    .ArgList<int>("outputs_with_grads",
                  "Outputs that get gradients from outside, by position in alias_dst.")
    .ArgList<std::string>("recompute_blobs_on_backward",
                          "Blobs of the step net that are not kept: the backward step net makes "
                          "them again. Not for random ones.")
    .Arg("enable_rnn_executor",
         "Accepted and without effect; operators use all threads within a step.")
    .Input(
        0, "sequence",
        "[T, N, ...]: T steps of a batch of N. Further inputs: initial values of states, [D] for "
        "all of the batch or [N, D] or [L, N, D], and parameters.")
    .Output(0, "output",
            "First of the views of states, [T, N, D] for all steps or [1, N, D] for the last. The "
            "last output holds the workspaces of the steps, for the gradient.")
    .Output(1, "step_workspaces", "The last output; see above.");

}  // namespace caffe2
