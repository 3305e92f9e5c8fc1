// RowMul, ReduceTailSum, ReduceFrontWeightedSum: rows and one number for each.
#include <algorithm>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// The rows of X; throws unless w has one number for each.
int64_t CheckRows(const Tensor& X, const Tensor& w) {
  CAFFE_ENFORCE(X.dim() >= 1 && w.numel() == X.size(0), "numbers ", ShapeString(w.sizes()),
                " for the rows of ", ShapeString(X.sizes()));
  return X.size(0);
}

// Y[i, :] = X[i, :] * w[i]
class RowMulOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1);
    const int64_t rows = CheckRows(X, W), width = X.size_from_dim(1);
    const float *x = X.data<float>(), *w = W.data<float>();
    Output(0)->ResizeLike(X);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < width; ++j) y[i * width + j] = x[i * width + j] * w[i];
    }
    return true;
  }
};

// y[i] = sum of row i
class ReduceTailSumOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    CAFFE_ENFORCE_GE(X.dim(), 1, "mat must have rows");
    const int64_t rows = X.size(0), width = X.size_from_dim(1);
    const float* x = X.data<float>();
    Output(0)->Resize(rows);
    float* y = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < rows; ++i) {
      float sum = 0;
      for (int64_t j = 0; j < width; ++j) sum += x[i * width + j];
      y[i] = sum;
    }
    return true;
  }
};

// y = sum over i of w[i] X[i, :]
class ReduceFrontWeightedSumOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &W = Input(1);
    const int64_t rows = CheckRows(X, W), width = X.size_from_dim(1);
    const float *x = X.data<float>(), *w = W.data<float>();
    Output(0)->Resize(std::vector<int64_t>(X.sizes().begin() + 1, X.sizes().end()));
    float* y = Output(0)->mutable_data<float>();
    std::fill_n(y, width, 0.f);
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < width; ++j) y[j] += w[i] * x[i * width + j];
    }
    return true;
  }
};

// dX[i, :] = w[i] dY
class ReduceFrontWeightedSumGradientOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    const Tensor &W = Input(0), &dY = Input(1);
    CAFFE_ENFORCE_EQ(W.dim(), 1, "SCALARS ", ShapeString(W.sizes()), " must be one-dimensional");
    const float *w = W.data<float>(), *dy = dY.data<float>();
    std::vector<int64_t> dims = dY.sizes();
    dims.insert(dims.begin(), W.size(0));
    Output(0)->Resize(dims);
    float* dx = Output(0)->mutable_data<float>();
    for (int64_t i = 0; i < W.size(0); ++i) {
      for (int64_t j = 0; j < dY.numel(); ++j) *dx++ = w[i] * dy[j];
    }
    return true;
  }
};

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

REGISTER_CPU_OPERATOR(RowMul, RowMulOp);
REGISTER_CPU_OPERATOR(ReduceTailSum, ReduceTailSumOp);
REGISTER_CPU_OPERATOR(ReduceFrontWeightedSum, ReduceFrontWeightedSumOp);
REGISTER_CPU_OPERATOR(ReduceFrontWeightedSumGradient, ReduceFrontWeightedSumGradientOp);
OPERATOR_SCHEMA(RowMul)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("Multiplies each row by a number.")
    .Input(0, "mat", "A float tensor of at least one dimension.")
    .Input(1, "w", "One float for each row.")
    .Output(0, "output", "The result, shaped like mat.");
OPERATOR_SCHEMA(ReduceTailSum)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInputDim(0, 0)
    .SetDoc("The sum of each row.")
    .Input(0, "mat", "A float tensor of at least one dimension.")
    .Output(0, "output", "One float for each row.");
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
    .Input(0, "DATA", "A float tensor of at least one dimension.")
    .Input(1, "SCALARS", "One float for each row.")
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
