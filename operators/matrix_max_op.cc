// RowwiseMax, ColwiseMax: maxima in a batch of matrices.
#include "operators/reduction.h"

namespace caffe2 {
namespace {

// X as [batch, rows, columns], reduced over rows (colwise) or columns (rowwise).
template <bool colwise>
struct MatrixShape {
  std::vector<int64_t> kept, output;
  explicit MatrixShape(const std::vector<int64_t>& x) {
    CAFFE_ENFORCE_EQ(x.size(), size_t{3}, "the input must be a batch of matrices, but has shape ",
                     ShapeString(x));
    CAFFE_ENFORCE_GT(x[colwise ? 1 : 2], 0, "the maximum of no elements");
    kept = colwise ? std::vector<int64_t>{x[0], 1, x[2]} : std::vector<int64_t>{x[0], x[1], 1};
    output = {x[0], colwise ? x[2] : x[1]};
  }
};

template <class Context, bool colwise>
class MatrixMaxOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MatrixMaxOp);
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const MatrixShape<colwise> shape(X.sizes());
    const float* x = X.data<float>();
    Tensor* Y = Output(0);
    Y->Resize(shape.output);
    Reduce<MaxReducer>(MakeBroadcastPlan(X.sizes(), shape.kept), x, Y->numel(),
                       Y->template mutable_data<float>());
    return true;
  }
};

// Inputs X, Y, dY.
template <class Context, bool colwise>
class MatrixMaxGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(MatrixMaxGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    const MatrixShape<colwise> shape(X.sizes());
    CAFFE_ENFORCE(Y.sizes() == shape.output && dY.sizes() == shape.output, "Y has shape ",
                  ShapeString(Y.sizes()), " and dY ", ShapeString(dY.sizes()), " for X of ",
                  ShapeString(X.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->template mutable_data<float>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), shape.kept);
    const int64_t stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t iy) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = iy + i * stride;
        dx[row + i] = x[row + i] == y[j] ? dy[j] : 0.f;
      }
    });
    return true;
  }
};

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
