#include "operators/reduce/matrix_max_op.h"

#include "operators/reduce/reduction.h"

namespace caffe2 {

static void MaximaOf(const BroadcastPlan& plan, const float* x, int64_t results, float* y,
                     CPUContext* /*context*/) {
  Reduce<MaxReducer>(plan, x, results, y);
}
static void MaximaGradient(const BroadcastPlan& plan, int64_t /*results*/, const float* dy,
                           const float* x, const float* y, float* dx, CPUContext* /*context*/) {
  const int64_t stride = plan.b_inner_stride();
  ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t iy) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t j = iy + i * stride;
      dx[row + i] = x[row + i] == y[j] ? dy[j] : 0.f;
    }
  });
}

namespace {

class GetMatrixMaxGradient final : public GradientMakerBase {
 public:
  using GradientMakerBase::GradientMakerBase;
  std::vector<OperatorDef> GetGradientDefs() override {
    return SingleGradientDef(Def().type() + "Gradient", "",
                             std::vector<std::string>{I(0), O(0), GO(0)},
                             std::vector<std::string>{GI(0)});
  }
};

template <bool colwise>
void DescribeMatrixMax(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{CreateTensorShape(
            MatrixShape<colwise>(GetDimsVector(in[0])).output, in[0].data_type())};
      })
      .Input(0, "X", "Float tensor [batch, rows, columns].")
      .Output(0, "Y", colwise ? "The maxima, [batch, columns]." : "The maxima, [batch, rows].");
}
void DescribeMatrixMaxGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "Input of the forward operator.")
      .Input(1, "Y", "Its output.")
      .Input(2, "dY", "Gradient of the output.")
      .Output(0, "dX", "Gradient of the input: dY where X equals the maximum.");
}

}  // namespace

REGISTER_CPU_OPERATOR(RowwiseMax, MatrixMaxOp<CPUContext, false>);
REGISTER_CPU_OPERATOR(ColwiseMax, MatrixMaxOp<CPUContext, true>);
REGISTER_CPU_OPERATOR(RowwiseMaxGradient, MatrixMaxGradientOp<CPUContext, false>);
REGISTER_CPU_OPERATOR(ColwiseMaxGradient, MatrixMaxGradientOp<CPUContext, true>);
OPERATOR_SCHEMA(RowwiseMax)
    .FillUsing(DescribeMatrixMax<false>)
    .SetDoc("The maximum of each row of each matrix of a batch.");
OPERATOR_SCHEMA(ColwiseMax)
    .FillUsing(DescribeMatrixMax<true>)
    .SetDoc("The maximum of each column of each matrix of a batch.");
OPERATOR_SCHEMA(RowwiseMaxGradient)
    .FillUsing(DescribeMatrixMaxGradient)
    .SetDoc("Gradient of RowwiseMax.");
OPERATOR_SCHEMA(ColwiseMaxGradient)
    .FillUsing(DescribeMatrixMaxGradient)
    .SetDoc("Gradient of ColwiseMax.");
REGISTER_GRADIENT(RowwiseMax, GetMatrixMaxGradient);
REGISTER_GRADIENT(ColwiseMax, GetMatrixMaxGradient);

}  // namespace caffe2
