// RecurrentNetworkGradient; recurrent_network.h describes how it works.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "caffe2/utils/math.h"
#include "operators/recurrent/recurrent_network.h"

namespace caffe2 {

// Runs the backward step net from the last step to the first.
//
// Inputs are the gradients of the outputs `outputs_with_grads`, then all inputs and outputs of the
// forward operator. Outputs are the gradients of the sequence, of the inputs `param` and of the
// initial states.
template <class Context>
class RecurrentNetworkGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RecurrentNetworkGradientOp(const OperatorDef& def, Workspace* ws);
  bool RunOnDevice() override;

 private:
  struct StateGradient {
    std::string name;  // of the gradient of the state, a blob of the outer workspace
    Blob* state = nullptr;
    Blob* blob = nullptr;
    int outer = -1;       // the input that holds the gradient of all steps; -1: none
    int outer_last = -1;  // and of the last step
    int offset = 0;       // row of the state that step 0 writes
  };

  std::string Renamed(const std::string& blob) const;
  std::vector<RecurrentLink> GradientLinks() const;
  std::vector<StateGradient> ReadStateGradients() const;
  StepNets MakeStepNets() const;
  void RenameParameterGradients(NetDef* net) const;
  void InitializeGradients();
  void AddLastGradients();
  void FinishInitialStates();

  const Tensor& ForwardInput(int i) const { return Input(num_outer_ + i); }

  Workspace* ws_;
  std::string timestep_;
  std::vector<int> outputs_with_grads_, params_, initial_states_;
  int num_outer_;  // gradients that come from outside: the first inputs
  std::vector<StateGradient> states_;
  StepNets step_nets_;
};

template <class Context>
RecurrentNetworkGradientOp<Context>::RecurrentNetworkGradientOp(const OperatorDef& def,
                                                                Workspace* ws)
    : Operator<Context>(def, ws),
      ws_(ws),
      timestep_(this->template GetSingleArgument<std::string>("timestep", "timestep")),
      outputs_with_grads_(this->template GetRepeatedArgument<int>("outputs_with_grads")),
      params_(this->template GetRepeatedArgument<int>("param")),
      initial_states_(this->template GetRepeatedArgument<int>("initial_recurrent_state_ids")),
      num_outer_(static_cast<int>(outputs_with_grads_.size())),
      states_(ReadStateGradients()),
      step_nets_(MakeStepNets()) {}

// Memory planners share blobs of gradients, and say so in arguments.
template <class Context>
std::string RecurrentNetworkGradientOp<Context>::Renamed(const std::string& blob) const {
  return this->template GetSingleArgument<std::string>(blob + ".rename", blob);
}

template <class Context>
std::vector<RecurrentLink> RecurrentNetworkGradientOp<Context>::GradientLinks() const {
  std::vector<RecurrentLink> links = ReadLinks(debug_def(), "");
  const std::vector<RecurrentLink> backward = ReadLinks(debug_def(), "backward_");
  links.insert(links.end(), backward.begin(), backward.end());
  const std::string sequence_gradient = debug_def().input(num_outer_) + "_grad";
  for (RecurrentLink& link : links) {
    // If several operators read the sequence, the contribution of this one has a name of its own.
    link.external =
        link.external == sequence_gradient ? debug_def().output(0) : Renamed(link.external);
    link.internal = Renamed(link.internal);
  }
  return links;
}

template <class Context>
auto RecurrentNetworkGradientOp<Context>::ReadStateGradients() const -> std::vector<StateGradient> {
  CAFFE_ENFORCE(num_outer_ < InputSize(), "outputs_with_grads has ", num_outer_,
                " elements, but the operator has only ", InputSize(),
                " inputs: a gradient for each element, and the sequence");
  std::vector<StateGradient> gradients;
  const auto states = this->template GetRepeatedArgument<std::string>("recurrent_states");
  const auto source = this->template GetRepeatedArgument<std::string>("alias_src");
  const auto offset = this->template GetRepeatedArgument<int>("alias_offset");
  const auto aliases = static_cast<int>(std::min(source.size(), offset.size()));
  CAFFE_ENFORCE(states.size() == initial_states_.size(), "arguments recurrent_states (",
                states.size(), ") and initial_recurrent_state_ids (", initial_states_.size(),
                ") must have the same length");
  CAFFE_ENFORCE(
      OutputSize() == static_cast<int>(1 + params_.size() + states.size()), "there must be ",
      static_cast<int>(1 + params_.size() + states.size()),
      " outputs, the gradients of the sequence, the parameters and the initial states; found ",
      OutputSize());
  for (const std::string& state : states) {
    StateGradient gradient;
    gradient.name = Renamed(state + "_grad");
    gradient.state = ws_->CreateBlob(state);
    gradient.blob = ws_->CreateBlob(gradient.name);
    for (int k = 0; k < num_outer_; ++k) {
      const int output = outputs_with_grads_[k];
      CAFFE_ENFORCE(output >= 0 && output < aliases, "outputs_with_grads: ", output,
                    " is not one of the ", aliases, " views of states");
      if (source[output] != state) continue;
      CAFFE_ENFORCE(offset[output] >= -1 && offset[output] != 0, "an output with alias_offset ",
                    offset[output], " gets no gradient; 1 (all steps) or -1 (the last) do");
      if (offset[output] == -1) {
        gradient.outer_last = k;
      } else {
        gradient.outer = k;
        gradient.offset = offset[output];
      }
    }
    gradients.push_back(gradient);
  }
  return gradients;
}

// The net computes each gradient of one step under a name of its own, so that Sum can add it up.
template <class Context>
void RecurrentNetworkGradientOp<Context>::RenameParameterGradients(NetDef* net) const {
  const auto names = this->template GetRepeatedArgument<std::string>("param_grads");
  CAFFE_ENFORCE(names.empty() || names.size() == params_.size(), "param_grads has ", names.size(),
                " blobs for ", params_.size(), " parameters");
  std::vector<OperatorDef> sums;
  for (size_t i = 0; i < params_.size(); ++i) {
    const std::string& total = debug_def().output(static_cast<int>(i) + 1);
    const std::string name = names.empty() ? total : Renamed(names[i]);
    const std::string of_step = name + "_tmpstep";
    for (OperatorDef& op : *net->mutable_op()) {
      std::replace(op.mutable_input()->begin(), op.mutable_input()->end(), name, of_step);
      std::replace(op.mutable_output()->begin(), op.mutable_output()->end(), name, of_step);
    }
    sums.push_back(GradientMakerBase::CreateOperatorDef("Sum", "", {total, of_step}, {total}));
  }
  for (OperatorDef& sum : sums) {
    *sum.mutable_device_option() = debug_def().device_option();
    *net->add_op() = sum;
  }
}

template <class Context>
StepNets RecurrentNetworkGradientOp<Context>::MakeStepNets() const {
  NetDef net = ReadStepNet(debug_def(), "backward_step_net");
  RenameParameterGradients(&net);
  std::vector<OperatorDef> accumulations;
  for (const StateGradient& state : states_) {
    if (state.outer < 0) continue;
    accumulations.push_back(GradientMakerBase::CreateOperatorDef(
        "rnn_internal_accumulate_gradient_input", "",
        {timestep_, debug_def().input(state.outer), state.name}, {state.name},
        {MakeArgument("offset", state.offset)}));
    *accumulations.back().mutable_device_option() = debug_def().device_option();
  }
  PrependOperators(accumulations, &net);
  const std::vector<std::string> written = BlobsMadeBy(net);
  std::vector<RecurrentLink> links = GradientLinks();
  for (const RecurrentLink& link : links) {
    CAFFE_ENFORCE(link.external != debug_def().output(0) ||
                      std::count(written.begin(), written.end(), link.internal) != 0,
                  "backward_link_internal: no operator of net ", net.name(), " writes ",
                  link.internal, ", the gradient of the sequence");
  }
  PrependLinks(links, timestep_, debug_def().device_option(), &net);
  // The blobs of the backward steps do not outlive them.
  std::vector<std::string> made = BlobsMadeBy(net);
  return StepNets(std::move(net), std::move(links), timestep_, std::move(made));
}

template <class Context>
void RecurrentNetworkGradientOp<Context>::InitializeGradients() {
  Tensor* sequence = Output(0);
  sequence->ResizeLike(ForwardInput(0));
  sequence->template mutable_data<float>();
  for (size_t i = 0; i < params_.size(); ++i) {
    Tensor* gradient = Output(static_cast<int>(i) + 1);
    gradient->ResizeLike(ForwardInput(params_[i]));
    SetZero(gradient, &context_);
  }
  for (const StateGradient& state : states_) {
    Tensor* gradient = BlobGetMutableTensor(state.blob, context_.device());
    gradient->ResizeLike(state.state->template Get<Tensor>());
    SetZero(gradient, &context_);
  }
}

template <class Context>
void RecurrentNetworkGradientOp<Context>::AddLastGradients() {
  for (const StateGradient& state : states_) {
    if (state.outer_last < 0) continue;
    const Tensor& last = Input(state.outer_last);
    Tensor* gradient = BlobGetMutableTensor(state.blob, context_.device());
    const int64_t row = gradient->size_from_dim(1);
    CAFFE_ENFORCE(last.numel() == row, "the gradient of the last step of ", state.name,
                  " must have ", row, " elements: it has shape ", ShapeString(last.sizes()),
                  ", the gradient of all steps ", ShapeString(gradient->sizes()));
    AddTo(row, last.data<float>(),
          gradient->template mutable_data<float>() + (gradient->size(0) - 1) * row, &context_);
  }
}

template <class Context>
void RecurrentNetworkGradientOp<Context>::FinishInitialStates() {
  for (size_t i = 0; i < states_.size(); ++i) {
    const Tensor& initial = ForwardInput(initial_states_[i]);
    const Tensor& gradient = states_[i].blob->template Get<Tensor>();
    Tensor* output = Output(static_cast<int>(1 + params_.size() + i));
    if (initial.dim() == 1) {  // was copied for each row of the batch
      output->ResizeLike(initial);
      math::ColumnSums(gradient.size(1), gradient.size(2), gradient.data<float>(),
                       output->template mutable_data<float>(), &context_);
    } else {
      *output = gradient.View(0, initial.sizes());
    }
  }
}

template <class Context>
bool RecurrentNetworkGradientOp<Context>::RunOnDevice() {
  const auto& scratch = this->template Input<ScratchWorkspaces>(InputSize() - 1);
  const int64_t steps = ForwardInput(0).size(0);
  CAFFE_ENFORCE(static_cast<int64_t>(scratch.steps.size()) >= steps,
                "the forward operator must keep the workspaces of ", steps, " steps, found ",
                scratch.steps.size());
  InitializeGradients();
  AddLastGradients();
  DeferredWaits waits;  // steps are started one after another, without waits
  bool ok = true;
  for (int64_t t = steps - 1; ok && t >= 0; --t) ok = step_nets_.Run(t, scratch, t, 0);
  waits.FinishOthers(context_.device());
  if (!ok) return false;
  FinishInitialStates();
  return true;
}

}  // namespace caffe2
