#include "operators/optimizer/momentum_sgd_op.h"

namespace caffe2 {

using FP16MomentumSgdOp = MomentumSgdOp<CPUContext, float16>;
REGISTER_CPU_OPERATOR(MomentumSGD, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(MomentumSGDUpdate, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(FP32MomentumSGDUpdate, MomentumSgdOp<CPUContext>);
REGISTER_CPU_OPERATOR(FP16MomentumSGDUpdate, FP16MomentumSgdOp);

namespace {

void CommonSchema(OpSchema& schema) {
  schema.Arg<float>("momentum", "(default 0) The share of the last step that is kept.")
      .Arg<int>("nesterov", "(default 0) 1 for Nesterov's form.")
      .Input(0, "grad", "The float gradient.")
      .Input(1, "moment", "The momentum, shaped like the gradient; zeros at the start.")
      .Input(2, "lr", "The learning rate, a float scalar; positive to descend.")
      .Output(0, "output_grad", "The step, which is subtracted from the parameter.")
      .Output(1, "output_moment", "The new momentum.");
}

constexpr const char* kFormula =
    "m' = momentum * m + lr * grad; the step is m', or with nesterov (1 + momentum) * m' - "
    "momentum * m (Sutskever et al., ICML 2013). ";

}  // namespace

OPERATOR_SCHEMA(MomentumSGD)
    .NumInputs(3)
    .NumOutputs(2)
    .AllowInplace({{0, 0}, {1, 1}})
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      return std::vector<TensorShape>{in[0], in[1]};
    })
    .SetDoc(std::string("The step of gradient descent with momentum. ") + kFormula +
            "Another operator updates the parameter.")
    .FillUsing(CommonSchema);
void UpdateSchema(OpSchema& schema) {
  schema.NumInputs(4, 5)
      .NumOutputs(3)
      .AllowInplace({{0, 0}, {1, 1}, {3, 2}})
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1], in[3]};
      })
      .FillUsing(CommonSchema)
      .Arg<float>("weight_decay",
                  "(default 0) weight_decay * param is added to the gradient first.")
      .Input(3, "param", "The parameter, shaped like the gradient.")
      .Input(4, "found_inf", kFoundInfDoc)
      .Output(2, "output_param", "The new parameter; most often the same blob.");
}
OPERATOR_SCHEMA(MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc(std::string("Gradient descent with momentum. ") + kFormula +
            "The parameter becomes param - step.");
OPERATOR_SCHEMA(FP32MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc("MomentumSGDUpdate, under Caffe2's name for the float parameters of float16 networks.");
OPERATOR_SCHEMA(FP16MomentumSGDUpdate)
    .FillUsing(UpdateSchema)
    .SetDoc(
        "MomentumSGDUpdate for float16 parameters, gradients and momentum; arithmetic is in float, "
        "and results are rounded once.")
    .Arg("fp32_update", "Without effect: arithmetic is always in float.")
    .Input(0, "grad", "The float16 gradient.")
    .Input(1, "moment", "The float16 momentum, shaped like the gradient; zeros at the start.");
SHOULD_NOT_DO_GRADIENT(MomentumSGD);
SHOULD_NOT_DO_GRADIENT(MomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(FP32MomentumSGDUpdate);
SHOULD_NOT_DO_GRADIENT(FP16MomentumSGDUpdate);

}  // namespace caffe2
