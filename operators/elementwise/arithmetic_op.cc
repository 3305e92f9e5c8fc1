#include "operators/elementwise/arithmetic_op.h"

#include <algorithm>

#include "operators/elementwise/binary_op.h"

namespace caffe2 {
namespace {

struct DivisorCheck {
  template <typename T>
  void operator()(int64_t n, const T* b, CPUContext* /*context*/) const {
    if constexpr (std::is_integral_v<T>) {
      CAFFE_ENFORCE(std::find(b, b + n, T(0)) == b + n, "integer division by zero");
    }
  }
};

// An in-place sum has a gradient, and so has an in-place quotient, from its result. The other rules
// need the overwritten operand.
class GetAddGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "",
                             std::vector<std::string>{GO(0), I(0), I(1)},
                             std::vector<std::string>{GI(0), GI(1)});
  }
};
class GetMulGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0) && I(1) != O(0), "the gradient of ", Def().type(),
                  " needs both inputs, but the output was written in place: ", O(0));
    return SingleGradientDef(Def().type() + "Gradient", "",
                             std::vector<std::string>{GO(0), I(0), I(1)},
                             std::vector<std::string>{GI(0), GI(1)});
  }
};
class GetDivGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(1) != O(0),
                  "the gradient of Div needs B, but the output was written there: ", O(0));
    const std::vector<std::string> outputs{GI(0), GI(1)};
    if (I(0) == O(0)) {
      return SingleGradientDef("DivGradient", "", std::vector{I(1), O(0), GO(0)}, outputs);
    }
    return SingleGradientDef("DivGradient", "", std::vector{GO(0), I(0), I(1), O(0)}, outputs);
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Add, BinaryOp<CPUContext, AddFunction, NumericTypes>);
REGISTER_CPU_OPERATOR(Sub, BinaryOp<CPUContext, SubFunction, NumericTypes>);
REGISTER_CPU_OPERATOR(Mul, BinaryOp<CPUContext, MulFunction, NumericTypes>);
REGISTER_CPU_OPERATOR(Div, BinaryOp<CPUContext, DivFunction, NumericTypes, SameType, DivisorCheck>);
REGISTER_CPU_OPERATOR(AddGradient, BinaryGradientOp<CPUContext, AddFunction>);
REGISTER_CPU_OPERATOR(SubGradient, BinaryGradientOp<CPUContext, SubFunction>);
REGISTER_CPU_OPERATOR(MulGradient, BinaryGradientOp<CPUContext, MulFunction>);
REGISTER_CPU_OPERATOR(DivGradient, BinaryGradientOp<CPUContext, DivFunction>);

OPERATOR_SCHEMA(Add).FillUsing(BinarySchema).SetDoc("C = A + B, element by element.");
OPERATOR_SCHEMA(Sub).FillUsing(BinarySchema).SetDoc("C = A - B, element by element.");
OPERATOR_SCHEMA(Mul).FillUsing(BinarySchema).SetDoc("C = A * B, element by element.");
OPERATOR_SCHEMA(Div)
    .FillUsing(BinarySchema)
    .SetDoc(
        "C = A / B, element by element. Integers round towards zero; dividing one by zero is "
        "an error.");
OPERATOR_SCHEMA(AddGradient)
    .FillUsing(BinaryGradientSchema)
    .SetDoc("Gradient of Add: dA = dC, dB = dC, summed over the dimensions that were broadcast.");
OPERATOR_SCHEMA(SubGradient)
    .FillUsing(BinaryGradientSchema)
    .SetDoc("Gradient of Sub: dA = dC, dB = -dC, summed over the dimensions that were broadcast.");
OPERATOR_SCHEMA(MulGradient)
    .FillUsing(BinaryGradientSchema)
    .SetDoc(
        "Gradient of Mul: dA = dC * B, dB = dC * A, summed over the dimensions that were "
        "broadcast.");
OPERATOR_SCHEMA(DivGradient)
    .FillUsing(BinaryGradientSchema)
    .NumInputs({3, 4})
    .AllowInplace([](int input, int output) { return input == 0 || (input == 2 && output == 0); })
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      if (in.size() == 3) return std::vector<TensorShape>{in[1], in[0]};
      return std::vector<TensorShape>{in[1], in[2]};
    })
    .SetDoc(
        "Gradient of Div: dA = dC / B, dB = -dC * A / B^2, summed over the dimensions that were "
        "broadcast. With three inputs, which are then B, C and dC, dB = -dC * C / B; A has C's "
        "shape.")
    .Input(0, "dC", "Gradient of the result. Of three inputs: B.")
    .Input(1, "A", "First operand of the forward operator. Of three inputs: its result C.")
    .Input(2, "B", "Second operand of the forward operator. Of three inputs: dC.")
    .Input(3, "C", "The result; not used.");

REGISTER_GRADIENT(Add, GetAddGradient);
REGISTER_GRADIENT(Sub, GetAddGradient);
REGISTER_GRADIENT(Mul, GetMulGradient);
REGISTER_GRADIENT(Div, GetDivGradient);

}  // namespace caffe2
