#include "operators/elementwise/half_float_op.h"

#include "operators/common/gradient_rule.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {
namespace {

template <typename From, typename To>
using HalfFloatOp = MapOp<CPUContext, IdentityFunction, TensorTypes<From>, FixedType<To>>;

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
REGISTER_GRADIENT(FloatToHalf, GradientRule<"HalfToFloat: GO0 -> GI0">);
REGISTER_GRADIENT(HalfToFloat, GradientRule<"FloatToHalf: GO0 -> GI0">);

}  // namespace caffe2
