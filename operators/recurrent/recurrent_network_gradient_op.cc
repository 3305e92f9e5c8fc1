#include "operators/recurrent/recurrent_network_gradient_op.h"

namespace caffe2 {

REGISTER_CPU_OPERATOR(RecurrentNetworkGradient, RecurrentNetworkGradientOp<CPUContext>);

OPERATOR_SCHEMA(RecurrentNetworkGradient)
    .NumInputs(2, std::numeric_limits<int>::max())
    .NumOutputs(1, std::numeric_limits<int>::max())
    .SetDoc(
        "The gradient of RecurrentNetwork, by its arguments: runs the backward step net from the "
        "last step to the first in the workspaces of the forward steps.")
    .Arg<NetDef>("backward_step_net", "The net of one step.", true)
    .Input(0, "d_output",
           "First of the gradients of outputs_with_grads; then the inputs and the outputs of the "
           "forward operator.")
    .Output(0, "d_sequence",
            "Gradient of the sequence; then the gradients of the inputs in `param` and of the "
            "initial states.");

class GetRecurrentNetworkGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(HasBackwardStepNet(Def()), "RecurrentNetwork with output ", O(0),
                  " was built for the forward pass only: it has no backward_step_net");
    const ArgumentHelper arguments(Def());
    std::vector<std::string> inputs, outputs;
    for (int i : arguments.GetRepeatedArgument<int>("outputs_with_grads")) inputs.push_back(GO(i));
    inputs.insert(inputs.end(), Def().input().begin(), Def().input().end());
    inputs.insert(inputs.end(), Def().output().begin(), Def().output().end());
    outputs.push_back(GI(0));
    for (const char* name : {"param", "initial_recurrent_state_ids"}) {
      for (int i : arguments.GetRepeatedArgument<int>(name)) outputs.push_back(GI(i));
    }
    return SingleGradientDef("RecurrentNetworkGradient", "", inputs, outputs);
  }
};
REGISTER_GRADIENT(RecurrentNetwork, GetRecurrentNetworkGradient);

}  // namespace caffe2
