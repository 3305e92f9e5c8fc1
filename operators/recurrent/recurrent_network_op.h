// RecurrentNetwork; recurrent_network.h says how it works.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "operators/recurrent/recurrent_network.h"

namespace caffe2 {

// A text that identifies the contents of step workspaces: the step net, and which of its blobs are
// not kept.
std::string RecurrentDefinition(const OperatorDef& def);
// The number of rows of a state before the rows that steps write: one, or the number of rows of the
// initial value.
inline int64_t InitialLength(const std::vector<int64_t>& initial) {
  return initial.size() == 3 ? initial[0] : 1;
}

// Runs the step net over a sequence. With a backward step net every step keeps its workspace; else
// the steps alternate between two workspaces.
template <class Context>
class RecurrentNetworkOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RecurrentNetworkOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  struct State {
    std::string name;
    int input = 0;  // which input holds the initial value
    Blob* blob = nullptr;
  };
  struct Alias {
    Blob* source = nullptr;
    Blob* target = nullptr;
    int offset = 0;  // first row of the source; negative ones count from the end
  };

  StepNets MakeStepNets() const;
  void ReadStates();
  void ReadAliases();
  void InitializeState(const State& state, int64_t steps, int64_t batch);

  Workspace* ws_;
  std::string definition_;  // of the step net; identifies its workspaces
  StepNets step_nets_;
  bool keeps_steps_;
  std::vector<State> states_;
  std::vector<Alias> aliases_;
};

template <class Context>
RecurrentNetworkOp<Context>::RecurrentNetworkOp(const OperatorDef& def, Workspace* ws)
    : Operator<Context>(def, ws),
      ws_(ws),
      definition_(RecurrentDefinition(def)),
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
  CAFFE_ENFORCE(names.size() == inputs.size(), "arguments recurrent_states (", names.size(),
                ") and initial_recurrent_state_ids (", inputs.size(),
                ") must have the same length");
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
  CAFFE_ENFORCE(sequence.dim() >= 2, "the sequence must be [T, N, ...], found shape ",
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
  DeferredWaits waits;  // steps are started one after another, without waits
  bool ok = true;
  for (int64_t t = 0; ok && t < steps; ++t) {
    ok = step_nets_.Run(t, *scratch, t % slots, (first + t) << 32);
  }
  waits.FinishOthers(context_.device());
  if (!ok) return false;

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

}  // namespace caffe2
