#include "operators/elementwise/pow_op.h"

#include <memory>

#include "operators/elementwise/binary_op.h"

namespace caffe2 {

PowFunction::PowFunction(const OperatorBase& op)
    : exponent(op.GetSingleArgument<float>("exponent", 0.f)) {
  CAFFE_ENFORCE(op.HasArgument("exponent"), "the exponent is neither an argument nor an input");
}

namespace {

// Scalar exponent e: dX = e * (X^(e-1) * dY). In place, as in Caffe2, X = Y^(1/e), which is right
// for X >= 0.
class GetPowGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  bool CopyArguments() const override { return Def().input_size() == 2; }
  std::vector<OperatorDef> GetGradientDefs() override {
    const bool in_place = I(0) == O(0);
    if (Def().input_size() == 2) {
      CAFFE_ENFORCE(!in_place,
                    "the gradient of Pow with two inputs needs the first one, but the output was "
                    "written in place: ",
                    O(0));
      return SingleGradientDef("PowGradient", "", std::vector<std::string>{GO(0), I(0), I(1)},
                               std::vector<std::string>{GI(0), GI(1)});
    }
    const float exponent = ArgumentHelper(Def()).GetSingleArgument<float>("exponent", 0.f);
    if (in_place) {
      CAFFE_ENFORCE(exponent != 0,
                    "the gradient of Pow with the exponent 0 needs the input, but the "
                    "output was written in place: ",
                    O(0));
      LOG(WARNING) << "Pow writes " << O(0)
                   << " in place: its gradient is computed from the output "
                   << "and is wrong where the input was negative";
    }
    const float power = in_place ? (exponent - 1) / exponent : exponent - 1;
    return {CreateOperatorDef("Pow", "", {in_place ? O(0) : I(0)}, {GI(0)},
                              {MakeArgument("exponent", power)}),
            CreateOperatorDef("Mul", "", {GI(0), GO(0)}, {GI(0)}),
            CreateOperatorDef("Scale", "", {GI(0)}, {GI(0)}, {MakeArgument("scale", exponent)})};
  }
};

// The exponent is the second input if there is one.
std::unique_ptr<OperatorBase> MakePow(const OperatorDef& def, Workspace* ws) {
  if (def.input_size() == 1) {
    return std::make_unique<UnaryOp<CPUContext, PowFunction, FloatTypes>>(def, ws);
  }
  return std::make_unique<BinaryOp<CPUContext, PowOfTensorsFunction, FloatTypes>>(def, ws);
}
const Registerer<std::string, OperatorBase, const OperatorDef&, Workspace*> kPowRegisterer(
    DeviceOperatorRegistry(CPU), "Pow", MakePow);

}  // namespace

REGISTER_CPU_OPERATOR(PowGradient, BinaryGradientOp<CPUContext, PowOfTensorsFunction>);

OPERATOR_SCHEMA(Pow)
    .FillUsing(BinarySchema)
    .NumInputs(1, 2)
    .TensorInferenceFunction([](const OperatorDef& def, const std::vector<TensorShape>& in) {
      return in.size() == 1 ? in : InferBinary()(def, in);
    })
    .SetDoc("Y = X^exponent, element by element.")
    .Arg<float>("exponent", "The exponent, where it is not an input.")
    .Input(0, "X", "A tensor of a floating-point type.")
    .Input(1, "exponent", "Optional: exponents, which broadcast against X; of X's type.")
    .Output(0, "Y", "The powers.");
OPERATOR_SCHEMA(PowGradient)
    .FillUsing(BinaryGradientSchema)
    .SetDoc(
        "Gradient of Pow with an exponent tensor: dA = dC * B * A^(B-1), "
        "dB = dC * A^B * log(A), summed over the dimensions that were broadcast.");
REGISTER_GRADIENT(Pow, GetPowGradient);

}  // namespace caffe2
