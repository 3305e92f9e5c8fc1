#include "operators/recurrent/recurrent_network_link_op.h"

namespace caffe2 {
namespace {

std::vector<TensorShape> InferLink(const OperatorDef& def, const std::vector<TensorShape>& in) {
  TensorShape internal = in.at(1);
  internal.set_dims(0, ArgumentHelper(def).GetSingleArgument<int>("window", 1));
  return {internal, in[1]};
}

}  // namespace

REGISTER_CPU_OPERATOR(rnn_internal_apply_link, RNNApplyLinkOp<CPUContext>);
REGISTER_CPU_OPERATOR(rnn_internal_accumulate_gradient_input,
                      AccumulateInputGradientOp<CPUContext>);

OPERATOR_SCHEMA(rnn_internal_apply_link)
    .NumInputs(2)
    .NumOutputs(2)
    .EnforceInplace({{1, 1}})
    .Private()
    .TensorInferenceFunction(InferLink)
    .SetDoc(
        "Makes a blob of a step net a view of some rows of a tensor outside: both share their "
        "storage.")
    .Arg<int>("offset", "(default 0) The first row is timestep + offset.")
    .Arg<int>("window", "(default 1) The number of rows.")
    .Input(0, "timestep", "The number of the step: one int32 in host memory.")
    .Input(1, "external", "A tensor whose first dimension is time.")
    .Output(0, "internal", "[window, further dimensions of external].")
    .Output(1, "external", "The second input, whose contents may change from now on.");
OPERATOR_SCHEMA(rnn_internal_accumulate_gradient_input)
    .NumInputs(3)
    .NumOutputs(1)
    .EnforceInplace({{2, 0}})
    .Private()
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in.at(2)};
    })
    .SetDoc("gradient[timestep + offset] += outer_gradient[timestep].")
    .Arg<int>("offset", "(default 0) See above.")
    .Input(0, "timestep", "The number of the step: one int32 in host memory.")
    .Input(1, "outer_gradient", "Floats; the first dimension is time.")
    .Input(2, "gradient", "Floats with rows of the same size.")
    .Output(0, "gradient", "The third input.");
NO_GRADIENT(rnn_internal_apply_link);
NO_GRADIENT(rnn_internal_accumulate_gradient_input);

}  // namespace caffe2
