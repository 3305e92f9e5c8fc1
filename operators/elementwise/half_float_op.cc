// FloatToHalf, HalfToFloat.
#include "operators/elementwise/elementwise_ops.h"

namespace caffe2 {
namespace {

// Widening and narrowing do the conversion.
struct IdentityFunctor {
  float operator()(float x) const { return x; }
};

class GetHalfFloatGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() == "FloatToHalf" ? "HalfToFloat" : "FloatToHalf", "",
                             std::vector<std::string>{GO(0)}, std::vector<std::string>{GI(0)});
  }
};

template <typename From, typename To>
using HalfFloatOp =
    UnaryElementwiseOp<TensorTypes<From>, CPUContext, CpuUnary<IdentityFunctor>, FixedType<To>>;

OpSchema::TensorInference InferType(TensorProto::DataType type) {
  return [type](const OperatorDef&, const std::vector<TensorShape>& in) {
    std::vector<TensorShape> out = in;
    out[0].set_data_type(type);
    return out;
  };
}

}  // namespace

REGISTER_CPU_OPERATOR(FloatToHalf, HalfFloatOp<float, float16>);
REGISTER_CPU_OPERATOR(HalfToFloat, HalfFloatOp<float16, float>);

OPERATOR_SCHEMA(FloatToHalf)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferType(TensorProto::FLOAT16))
    .SetDoc("Converts float to float16, to the nearest value, ties to even.")
    .Input(0, "X", "A float tensor.")
    .Output(0, "Y", "The float16 tensor, of X's shape.");
OPERATOR_SCHEMA(HalfToFloat)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction(InferType(TensorProto::FLOAT))
    .SetDoc("Converts float16 to float, exactly.")
    .Input(0, "X", "A float16 tensor.")
    .Output(0, "Y", "The float tensor, of X's shape.");
REGISTER_GRADIENT(FloatToHalf, GetHalfFloatGradient);
REGISTER_GRADIENT(HalfToFloat, GetHalfFloatGradient);

}  // namespace caffe2
