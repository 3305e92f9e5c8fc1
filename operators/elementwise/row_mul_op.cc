// RowMul, ReduceTailSum, ReduceFrontWeightedSum: rows and one number for each.
#include "operators/elementwise/row_mul_op.h"

#include "operators/common/gradient_rule.h"

namespace caffe2 {
namespace {

// dX = RowMul(dY, w), dw = the row sums of dY * X.
class GetRowMulGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    const std::string product = GradientName(I(0)) + "_before_tailsum";
    return {CreateOperatorDef("RowMul", "", {GO(0), I(1)}, {GI(0)}),
            CreateOperatorDef("Mul", "", {GO(0), I(0)}, {product}),
            CreateOperatorDef("ReduceTailSum", "", {product}, {GI(1)})};
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(RowMul, RowMulOp<CPUContext>);
REGISTER_CPU_OPERATOR(ReduceTailSum, ReduceTailSumOp<CPUContext>);
REGISTER_CPU_OPERATOR(ReduceFrontWeightedSum, ReduceFrontWeightedSumOp<CPUContext>);
REGISTER_CPU_OPERATOR(ReduceFrontWeightedSumGradient, ReduceFrontWeightedSumGradientOp<CPUContext>);
OPERATOR_SCHEMA(RowMul)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Multiplies each row by a number.")
    .Input(0, "mat", "A tensor of float, float16 or bfloat16, of at least one dimension.")
    .Input(1, "w", "One number for each row, of mat's type.")
    .Output(0, "output", "The result, shaped like mat.");
OPERATOR_SCHEMA(ReduceTailSum)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInputDim(0, 0)
    .SetDoc("The sum of each row.")
    .Input(0, "mat", "A tensor of float, float16 or bfloat16, of at least one dimension.")
    .Output(0, "output", "One number for each row, of mat's type.");
OPERATOR_SCHEMA(ReduceFrontWeightedSum)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[0]);
      if (dims.empty()) return std::vector<TensorShape>{UnknownTensorShape()};
      dims.erase(dims.begin());
      return std::vector<TensorShape>{CreateTensorShape(dims, in[0].data_type())};
    })
    .SetDoc("The sum of all rows, each times its weight.")
    .Input(0, "DATA", "A tensor of float, float16 or bfloat16, of at least one dimension.")
    .Input(1, "SCALARS", "One number for each row, of DATA's type.")
    .Output(0, "OUTPUT", "The sum, shaped like a row.");
OPERATOR_SCHEMA(ReduceFrontWeightedSumGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
      std::vector<int64_t> dims = GetDimsVector(in[1]);
      dims.insert(dims.begin(), in[0].dims_size() > 0 ? in[0].dims(0) : 1);
      return std::vector<TensorShape>{CreateTensorShape(dims, in[1].data_type())};
    })
    .SetDoc("The gradient of ReduceFrontWeightedSum for DATA.")
    .Input(0, "SCALARS", "As in the forward operator.")
    .Input(1, "dOUTPUT", "The gradient of the sum.")
    .Output(0, "dDATA", "The gradient of DATA.");
REGISTER_GRADIENT(RowMul, GetRowMulGradient);
NO_GRADIENT(ReduceTailSum);
REGISTER_GRADIENT(ReduceFrontWeightedSum, GradientRule<"I1 GO0 -> GI0">);

}  // namespace caffe2
