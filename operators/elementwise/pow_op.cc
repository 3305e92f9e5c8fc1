#include "operators/elementwise/pow_op.h"

#include <cmath>

#include "operators/elementwise/binary_gradient.h"

namespace caffe2 {
namespace {

struct TensorPowFunctor {
  template <typename T>
  T operator()(T x, T exponent) const {
    return std::pow(x, exponent);
  }
};

// C = A^B: dA = dC * B * A^(B-1), dB = dC * A^B * log(A), which tends to 0 with A.
struct PowDerivative {
  static constexpr bool kReadsOperands = true;
  template <typename T>
  static T A(T dc, T a, T b) {
    return b == T(0) ? T(0) : dc * b * std::pow(a, b - T(1));
  }
  template <typename T>
  static T B(T dc, T a, T b) {
    return a == T(0) && b >= T(0) ? T(0) : dc * std::pow(a, b) * std::log(a);
  }
};

// Scalar exponent e: dX = e * (X^(e-1) * dY).
class GetPowGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return Def().input_size() == 2; }
  std::vector<OperatorDef> GetGradientDefs() override {
    CAFFE_ENFORCE(I(0) != O(0),
                  "the gradient of Pow needs the input, but the output was written "
                  "in place: ",
                  O(0));
    if (Def().input_size() == 2) {
      return SingleGradientDef("PowGradient", "", std::vector<std::string>{GO(0), I(0), I(1)},
                               std::vector<std::string>{GI(0), GI(1)});
    }
    const float exponent = ArgumentHelper(Def()).GetSingleArgument<float>("exponent", 0.f);
    return {CreateOperatorDef("Pow", "", {I(0)}, {GI(0)}, {MakeArgument("exponent", exponent - 1)}),
            CreateOperatorDef("Mul", "", {GI(0), GO(0)}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", exponent)})};
  }
};

const Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*> kPowRegisterer(
    DeviceOperatorRegistry(CPU), "Pow",
    MakePow<CPUContext, BinaryElementwiseOp<FloatTypes, CPUContext, CpuBinary<TensorPowFunctor>>>);

}  // namespace

REGISTER_CPU_OPERATOR(PowGradient, BinaryGradientOp<CPUContext, PowDerivative>);

OPERATOR_SCHEMA(Pow)
    .FillUsing(DescribeBinary)
    .NumInputs(1, 2)
    .AllowInplace({{0, 0}, {1, 0}})
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return in.size() == 1 ? in : InferBinary()(def, in);
    })
    .SetDoc("Y = X^exponent, element by element.")
    .Arg("exponent", "The exponent, where it is not an input.")
    .Input(0, "X", "A tensor of a floating-point type.")
    .Input(1, "exponent", "Optional: exponents, which broadcast against X; of X's type.")
    .Output(0, "Y", "The powers.");
OPERATOR_SCHEMA(PowGradient)
    .FillUsing(DescribeBinaryGradient)
    .SetDoc(
        "Gradient of Pow with an exponent tensor: dA = dC * B * A^(B-1), "
        "dB = dC * A^B * log(A), summed over the dimensions that were broadcast.");
REGISTER_GRADIENT(Pow, GetPowGradient);

}  // namespace caffe2
