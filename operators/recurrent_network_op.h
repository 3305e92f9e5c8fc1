// RecurrentNetwork and RecurrentNetworkGradient; recurrent_network.h says how they work.
#pragma once

#include <string>
#include <vector>

#include "operators/recurrent_network.h"

namespace caffe2 {

// Runs the step net over a sequence. With a backward step net every step keeps its workspace; else
// two take turns.
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
  std::string definition_;  // of the step net, by which its workspaces are known
  StepNets step_nets_;
  bool keeps_steps_;
  std::vector<State> states_;
  std::vector<Alias> aliases_;
};

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

}  // namespace caffe2
