// Distances and products of pairs of rows: L1Distance, DotProduct, CosineSimilarity.
#include <cmath>

#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

// Rows are along axis 0; each has `width` elements.
struct RowSize {
  int64_t rows = 0, width = 0;
};

RowSize CheckPair(const Tensor& X, const Tensor& Y) {
  CAFFE_ENFORCE(X.sizes() == Y.sizes(), "X ", ShapeString(X.sizes()), " and Y ",
                ShapeString(Y.sizes()), " must have one shape");
  const int64_t rows = X.dim() == 0 ? 1 : X.size(0);
  return {rows, rows == 0 ? 0 : X.numel() / rows};
}

struct L1Distance {
  static float Value(int64_t n, const float* x, const float* y) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += std::fabs(double{x[j]} - y[j]);
    return static_cast<float>(sum);
  }
  static void Gradient(int64_t n, const float* x, const float* y, float g, float* dx, float* dy) {
    for (int64_t j = 0; j < n; ++j) {
      dx[j] = x[j] > y[j] ? g : x[j] < y[j] ? -g : 0.f;
      dy[j] = -dx[j];
    }
  }
};

struct DotProduct {
  static float Value(int64_t n, const float* x, const float* y) {
    double sum = 0;
    for (int64_t j = 0; j < n; ++j) sum += double{x[j]} * y[j];
    return static_cast<float>(sum);
  }
  static void Gradient(int64_t n, const float* x, const float* y, float g, float* dx, float* dy) {
    for (int64_t j = 0; j < n; ++j) {
      dx[j] = g * y[j];
      dy[j] = g * x[j];
    }
  }
};

struct CosineSimilarity {
  static constexpr double kSmallest = 1e-12;  // norms below count as this
  struct Products {
    double xy = 0, x_norm = 0, y_norm = 0;
  };
  static Products ProductsOf(int64_t n, const float* x, const float* y) {
    Products p;
    for (int64_t j = 0; j < n; ++j) {
      p.xy += double{x[j]} * y[j];
      p.x_norm += double{x[j]} * x[j];
      p.y_norm += double{y[j]} * y[j];
    }
    p.x_norm = std::sqrt(std::max(p.x_norm, kSmallest));
    p.y_norm = std::sqrt(std::max(p.y_norm, kSmallest));
    return p;
  }
  static float Value(int64_t n, const float* x, const float* y) {
    const Products p = ProductsOf(n, x, y);
    return static_cast<float>(p.xy / (p.x_norm * p.y_norm));
  }
  // d cos / dx = y / (|x| |y|) - cos x / |x|^2, and the same with x and y swapped.
  static void Gradient(int64_t n, const float* x, const float* y, float g, float* dx, float* dy) {
    const Products p = ProductsOf(n, x, y);
    const double cross = g / (p.x_norm * p.y_norm);
    const double along_x = cross * p.xy / (p.x_norm * p.x_norm);
    const double along_y = cross * p.xy / (p.y_norm * p.y_norm);
    for (int64_t j = 0; j < n; ++j) {
      dx[j] = static_cast<float>(cross * y[j] - along_x * x[j]);
      dy[j] = static_cast<float>(cross * x[j] - along_y * y[j]);
    }
  }
};

template <class Context, class Distance>
class DistanceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(DistanceOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1);
    const RowSize size = CheckPair(X, Y);
    const float *x = X.data<float>(), *y = Y.data<float>();
    Tensor* D = Output(0);
    D->Resize(size.rows);
    float* d = D->template mutable_data<float>();
    for (int64_t i = 0; i < size.rows; ++i) {
      d[i] = Distance::Value(size.width, x + i * size.width, y + i * size.width);
    }
    return true;
  }
};

template <class Context, class Distance>
class DistanceGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(DistanceGradientOp);
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &Y = Input(1), &dD = Input(2);
    const RowSize size = CheckPair(X, Y);
    CAFFE_ENFORCE_EQ(dD.numel(), size.rows, "gradient ", ShapeString(dD.sizes()), " for X ",
                     ShapeString(X.sizes()));
    const float *x = X.data<float>(), *y = Y.data<float>(), *d = dD.data<float>();
    Output(0)->ResizeLike(X);
    Output(1)->ResizeLike(Y);
    float* dx = Output(0)->template mutable_data<float>();
    float* dy = Output(1)->template mutable_data<float>();
    for (int64_t i = 0; i < size.rows; ++i) {
      const int64_t at = i * size.width;
      Distance::Gradient(size.width, x + at, y + at, d[i], dx + at, dy + at);
    }
    return true;
  }
};

void DescribeDistance(OpSchema& schema) {
  schema.NumInputs(2)
      .NumOutputs(1)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{
            CreateTensorShape({in[0].dims_size() == 0 ? 1 : in[0].dims(0)}, in[0].data_type())};
      })
      .Input(0, "X", "A float tensor [N, ...].")
      .Input(1, "Y", "Another of the same shape.")
      .Output(0, "Z", "A float vector of N values.");
}

void DescribeDistanceGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(2)
      .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[0], in[1]};
      })
      .Input(0, "X", "As in the forward operator.")
      .Input(1, "Y", "As in the forward operator.")
      .Input(2, "dZ", "The gradient of the output.")
      .Output(0, "dX", "The gradient of X.")
      .Output(1, "dY", "The gradient of Y.");
}

}  // namespace

REGISTER_CPU_OPERATOR(L1Distance, DistanceOp<CPUContext, L1Distance>);
REGISTER_CPU_OPERATOR(L1DistanceGradient, DistanceGradientOp<CPUContext, L1Distance>);
REGISTER_CPU_OPERATOR(DotProduct, DistanceOp<CPUContext, DotProduct>);
REGISTER_CPU_OPERATOR(DotProductGradient, DistanceGradientOp<CPUContext, DotProduct>);
REGISTER_CPU_OPERATOR(CosineSimilarity, DistanceOp<CPUContext, CosineSimilarity>);
REGISTER_CPU_OPERATOR(CosineSimilarityGradient, DistanceGradientOp<CPUContext, CosineSimilarity>);

OPERATOR_SCHEMA(L1Distance)
    .FillUsing(DescribeDistance)
    .SetDoc("Z[i] = the sum of |X - Y| over row i.");
OPERATOR_SCHEMA(L1DistanceGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of L1Distance: dX = dZ * sign(X - Y), dY = -dX.");
OPERATOR_SCHEMA(DotProduct)
    .FillUsing(DescribeDistance)
    .SetDoc("Z[i] = the sum of X * Y over row i.");
OPERATOR_SCHEMA(DotProductGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of DotProduct: dX = dZ * Y, dY = dZ * X.");
OPERATOR_SCHEMA(CosineSimilarity)
    .FillUsing(DescribeDistance)
    .SetDoc(
        "Z[i] = the cosine of the angle between rows i of X and Y. Squared norms below 1e-12 "
        "count as 1e-12, so that a row of zeros gives 0.");
OPERATOR_SCHEMA(CosineSimilarityGradient)
    .FillUsing(DescribeDistanceGradient)
    .SetDoc("The gradients of CosineSimilarity.");
REGISTER_GRADIENT(L1Distance, GradientRule<"I0 I1 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(DotProduct, GradientRule<"I0 I1 GO0 -> GI0 GI1">);
REGISTER_GRADIENT(CosineSimilarity, GradientRule<"I0 I1 GO0 -> GI0 GI1">);

}  // namespace caffe2
