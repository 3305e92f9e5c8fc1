// Gradients of Add, Sub, Mul, Div.
#include "operators/elementwise/binary_gradient.h"
#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

// C = A + B: dA = dC, dB = dC.
struct AddDerivative {
  static constexpr bool kReadsOperands = false;
  template <typename T>
  static T A(T dc, T, T) {
    return dc;
  }
  template <typename T>
  static T B(T dc, T, T) {
    return dc;
  }
};
// C = A - B: dA = dC, dB = -dC.
struct SubDerivative : AddDerivative {
  template <typename T>
  static T B(T dc, T, T) {
    return -dc;
  }
};
// C = A * B: dA = dC * B, dB = dC * A.
struct MulDerivative {
  static constexpr bool kReadsOperands = true;
  template <typename T>
  static T A(T dc, T, T b) {
    return dc * b;
  }
  template <typename T>
  static T B(T dc, T a, T) {
    return dc * a;
  }
};
// C = A / B: dA = dC / B, dB = -dC * A / B^2 = -dC * C / B.
struct DivDerivative {
  // Given C in the place of A.
  struct OfResult {
    static constexpr bool kReadsOperands = true;
    template <typename T>
    static T A(T dc, T, T b) {
      return dc / b;
    }
    template <typename T>
    static T B(T dc, T c, T b) {
      return -dc * c / b;
    }
  };
  static constexpr bool kReadsOperands = true;
  template <typename T>
  static T A(T dc, T, T b) {
    return dc / b;
  }
  template <typename T>
  static T B(T dc, T a, T b) {
    return -dc * a / (b * b);
  }
};

// In place the sum may be differentiated, and the quotient by its result: the other rules need the
// overwritten operand.
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

REGISTER_CPU_OPERATOR(AddGradient, BinaryGradientOp<CPUContext, AddDerivative>);
REGISTER_CPU_OPERATOR(SubGradient, BinaryGradientOp<CPUContext, SubDerivative>);
REGISTER_CPU_OPERATOR(MulGradient, BinaryGradientOp<CPUContext, MulDerivative>);
REGISTER_CPU_OPERATOR(DivGradient, BinaryGradientOp<CPUContext, DivDerivative>);

OPERATOR_SCHEMA(AddGradient)
    .FillUsing(DescribeBinaryGradient)
    .SetDoc("Gradient of Add: dA = dC, dB = dC, summed over the dimensions that were broadcast.");
OPERATOR_SCHEMA(SubGradient)
    .FillUsing(DescribeBinaryGradient)
    .SetDoc("Gradient of Sub: dA = dC, dB = -dC, summed over the dimensions that were broadcast.");
OPERATOR_SCHEMA(MulGradient)
    .FillUsing(DescribeBinaryGradient)
    .SetDoc(
        "Gradient of Mul: dA = dC * B, dB = dC * A, summed over the dimensions that were "
        "broadcast.");
OPERATOR_SCHEMA(DivGradient)
    .FillUsing(DescribeBinaryGradient)
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
