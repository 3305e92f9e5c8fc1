#include "operators/recurrent_network_op.h"

#include <algorithm>
#include <map>

#include "operators/copy_elements.h"

namespace caffe2 {
namespace {

// What identifies the contents of step workspaces: the net and which of its blobs are not kept.
std::string DefinitionOf(const OperatorDef& def) {
  std::string definition = ReadStepNet(def, "step_net").SerializeAsString();
  const auto recomputed =
      ArgumentHelper(def).GetRepeatedArgument<std::string>("recompute_blobs_on_backward");
  for (const std::string& blob : recomputed) definition += "\n" + blob;
  return definition;
}

// Rows of a state before those that steps write: one, or as many as the initial value has.
int64_t InitialLength(const std::vector<int64_t>& initial) {
  return initial.size() == 3 ? initial[0] : 1;
}

}  // namespace

template <class Context>
RecurrentNetworkOp<Context>::RecurrentNetworkOp(const OperatorDef& def, Workspace* ws)
    : Operator<Context>(def, ws),
      ws_(ws),
      definition_(DefinitionOf(def)),
      step_nets_(MakeStepNets()),
      keeps_steps_(HasBackwardStepNet(def)) {
  ReadStates();
  ReadAliases();
}

template <class Context>
StepNets RecurrentNetworkOp<Context>::MakeStepNets() const {
  NetDef net = ReadStepNet(debug_def(), "step_net");
  std::vector<RecurrentLink> links = ReadLinks(debug_def(), "");
  const auto timestep = this->template GetSingleArgument<std::string>("timestep", "timestep");
  PrependLinks(links, timestep, debug_def().device_option(), &net);
  return StepNets(std::move(net), std::move(links), timestep,
                  this->template GetRepeatedArgument<std::string>("recompute_blobs_on_backward"));
}

template <class Context>
void RecurrentNetworkOp<Context>::ReadStates() {
  const auto names = this->template GetRepeatedArgument<std::string>("recurrent_states");
  const auto inputs = this->template GetRepeatedArgument<int>("initial_recurrent_state_ids");
  CAFFE_ENFORCE_EQ(names.size(), inputs.size(),
                   "recurrent_states and initial_recurrent_state_ids differ in length");
  for (size_t i = 0; i < names.size(); ++i) {
    CAFFE_ENFORCE(inputs[i] >= 0 && inputs[i] < InputSize(),
                  "initial_recurrent_state_ids: ", inputs[i], " is none of ", InputSize(),
                  " inputs");
    // The gradient operator reads states too, so they lie outside, though they are no outputs.
    states_.push_back({names[i], inputs[i], ws_->CreateBlob(names[i])});
  }
}

template <class Context>
void RecurrentNetworkOp<Context>::ReadAliases() {
  const auto source = this->template GetRepeatedArgument<std::string>("alias_src");
  const auto target = this->template GetRepeatedArgument<std::string>("alias_dst");
  const auto offset = this->template GetRepeatedArgument<int>("alias_offset");
  CAFFE_ENFORCE(source.size() == target.size() && source.size() == offset.size(), "alias_src has ",
                source.size(), ", alias_dst ", target.size(), " and alias_offset ", offset.size(),
                " entries");
  for (size_t i = 0; i < source.size(); ++i) {
    aliases_.push_back({ws_->CreateBlob(source[i]), ws_->CreateBlob(target[i]), offset[i]});
  }
}

template <class Context>
void RecurrentNetworkOp<Context>::InitializeState(const State& state, int64_t steps,
                                                  int64_t batch) {
  const Tensor& initial = Input(state.input);
  const std::string shape = ShapeString(initial.sizes());
  CAFFE_ENFORCE(initial.dim() >= 1 && initial.dim() <= 3, "the initial value of ", state.name,
                " must have 1 to 3 dimensions, but has shape ", shape);
  CAFFE_ENFORCE(initial.dim() == 1 || initial.size(-2) == batch, "the initial value of ",
                state.name, " has shape ", shape, " for a batch of ", batch);
  const int64_t size = initial.size(-1), length = InitialLength(initial.sizes());
  Tensor* tensor = BlobGetMutableTensor(state.blob, context_.device());
  tensor->Resize(steps + length, batch, size);
  auto* data = static_cast<char*>(tensor->raw_mutable_data(initial.dtype()));
  const int64_t copies = initial.dim() == 1 ? batch : 1;
  for (int64_t i = 0; i < copies; ++i) {
    context_.CopyItems(initial.dtype(), initial.numel(), initial.raw_data(),
                       data + i * initial.nbytes());
  }
}

template <class Context>
bool RecurrentNetworkOp<Context>::RunOnDevice() {
  const Tensor& sequence = Input(0);
  CAFFE_ENFORCE_GE(sequence.dim(), 2, "the sequence must be [T, N, ...], but has shape ",
                   ShapeString(sequence.sizes()));
  const int64_t steps = sequence.size(0);
  for (const State& state : states_) InitializeState(state, steps, sequence.size(1));

  const int64_t slots = keeps_steps_ ? steps : std::min<int64_t>(steps, 2);
  auto* scratch = this->template Output<ScratchWorkspaces>(OutputSize() - 1);
  scratch->Prepare(definition_, ws_, slots);
  // Each step draws from a part of its own of this operator's stream, which checkpoints hold.
  RandomGenerator& random = context_.random();
  const uint64_t first = random.position();
  random.set_position(first + steps);
  for (int64_t t = 0; t < steps; ++t) {
    if (!step_nets_.Run(t, *scratch, t % slots, (first + t) << 32)) return false;
  }

  for (const Alias& alias : aliases_) {
    const auto& source = alias.source->template Get<Tensor>();
    const int64_t row = alias.offset >= 0 ? alias.offset : source.size(0) + alias.offset;
    CAFFE_ENFORCE(row >= 0 && row <= source.size(0), "alias_offset ", alias.offset,
                  " is outside of a state of shape ", ShapeString(source.sizes()));
    LinkRows(source, row, source.size(0) - row,
             BlobGetMutableTensor(alias.target, context_.device()));
  }
  return true;
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
    CAFFE_ENFORCE(sequence.size() >= 2 && !initial.empty(), "shapes ", ShapeString(sequence),
                  " and ", ShapeString(initial), " are no sequence and initial state");
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
    .Arg("step_net", "The net of one step.", true)
    .Arg("recurrent_states",
         "Blobs for the states: each is made as [T + 1, N, D], or [T + L, N, D] for an initial "
         "value [L, N, D].")
    .Arg("initial_recurrent_state_ids", "For each state the input that holds its initial value.")
    .Arg("link_internal", "Blobs of the step net that are rows of tensors outside.")
    .Arg("link_external", "For each of link_internal that tensor: the sequence or a state.")
    .Arg("link_offset", "For each of link_internal the first row, counted from the step's number.")
    .Arg("link_window", "For each of link_internal the number of rows. Default 1.")
    .Arg("alias_src", "States of which outputs are views.")
    .Arg("alias_dst", "For each of alias_src the output.")
    .Arg("alias_offset", "For each of alias_src its first row; negative: from the end.")
    .Arg("timestep",
         "Name under which the step net sees the number of the step, one int32. Default timestep.")
    .Arg("backward_step_net",
         "The net of one step of the gradient. Without it activations are not kept.")
    .Arg("backward_link_internal", "As link_internal, of the backward step net, for gradients.")
    .Arg("backward_link_external", "As link_external, for gradients.")
    .Arg("backward_link_offset", "As link_offset, for gradients.")
    .Arg("backward_link_window", "As link_window, for gradients.")
    .Arg("param", "Inputs whose gradients are summed over the steps.")
    .Arg("param_grads",
         "For each of `param` the blob of the backward step net that holds its gradient.")
    .Arg("outputs_with_grads", "Outputs that get gradients from outside, by position in alias_dst.")
    .Arg("recompute_blobs_on_backward",
         "Blobs of the step net that are not kept: the backward step net makes them again. Not for "
         "random ones.")
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
