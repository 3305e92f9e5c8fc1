// Operators that pass on their input and change its gradient.
#include "operators/common/copy_elements.h"
#include "operators/common/no_op.h"

namespace caffe2 {
namespace {

class GetNegateGradientGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("Negative", "", std::vector<std::string>{GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};
class GetZeroGradientGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef("ConstantFill", "", std::vector<std::string>{I(0)},
                             std::vector<std::string>{GI(0)},
                             std::vector<Argument>{MakeArgument("value", 0.f)});
  }
};

void DescribePassing(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .AllowInplace({{0, 0}})
      .IdenticalTypeAndShape()
      .Input(0, "input", "A tensor of any type and shape.")
      .Output(0, "output", "The same values.");
}

}  // namespace

REGISTER_CPU_OPERATOR(StopGradient, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(NegateGradient, CopyOp<CPUContext>);
REGISTER_CPU_OPERATOR(ZeroGradient, NoOp<CPUContext>);

OPERATOR_SCHEMA(StopGradient)
    .FillUsing(DescribePassing)
    .SetDoc("Passes the input on in the forward direction, and no gradient in the backward one.");
OPERATOR_SCHEMA(NegateGradient)
    .FillUsing(DescribePassing)
    .SetDoc(
        "Passes the input on in the forward direction, and the negated gradient in the "
        "backward one.");
OPERATOR_SCHEMA(ZeroGradient)
    .NumInputs(1)
    .NumOutputs(0)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>();
    })
    .SetDoc(
        "Does nothing in the forward direction. Gives its input a gradient of zeros, in case no "
        "other operator gives it one.")
    .Input(0, "input", "A float tensor.");

NO_GRADIENT(StopGradient);
REGISTER_GRADIENT(NegateGradient, GetNegateGradientGradient);
REGISTER_GRADIENT(ZeroGradient, GetZeroGradientGradient);

}  // namespace caffe2
