// Normalize, NormalizeL1, LpNorm.
#include <cmath>

#include "caffe2/core/operator.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

constexpr double kSmallestNorm = 1e-12;  // norms below count as this

// Vectors along an axis: `count` of them, each of `n` elements that lie `stride` apart.
struct Vectors {
  int64_t count = 0, n = 0, stride = 0;
  static Vectors Along(const Tensor& X, int axis) {
    axis = X.canonical_axis_index(axis);
    const int64_t inner = X.size_from_dim(axis + 1);
    return {X.size_to_dim(axis) * inner, X.size(axis), inner};
  }
  int64_t First(int64_t i) const { return i / stride * n * stride + i % stride; }
};

double Norm2(int64_t n, int64_t stride, const float* x) {
  double squares = 0;
  for (int64_t i = 0; i < n; ++i) squares += double{x[i * stride]} * x[i * stride];
  return std::max(std::sqrt(squares), kSmallestNorm);
}
double Norm1(int64_t n, int64_t stride, const float* x) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += std::fabs(x[i * stride]);
  return sum > 0 ? sum : 1;  // zeros stay zeros
}

template <auto norm>
class NormalizeOp final : public Operator<CPUContext> {
 public:
  NormalizeOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), axis_(GetSingleArgument<int>("axis", -1)) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const Vectors v = Vectors::Along(X, axis_);
    const float* x = X.data<float>();
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    float* y = Y->mutable_data<float>();
    for (int64_t i = 0; i < v.count; ++i) {
      const int64_t first = v.First(i);
      const auto factor = static_cast<float>(1 / norm(v.n, v.stride, x + first));
      for (int64_t j = 0; j < v.n; ++j) {
        y[first + j * v.stride] = x[first + j * v.stride] * factor;
      }
    }
    return true;
  }

 private:
  int axis_;
};

// dX = (dY - Y (Y . dY)) / |X|
class NormalizeGradientOp final : public Operator<CPUContext> {
 public:
  NormalizeGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws), axis_(GetSingleArgument<int>("axis", -1)) {}
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dY = Input(1);
    CAFFE_ENFORCE(X.sizes() == dY.sizes(), "gradient ", ShapeString(dY.sizes()), " for X ",
                  ShapeString(X.sizes()));
    const Vectors v = Vectors::Along(X, axis_);
    const float *x = X.data<float>(), *dy = dY.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->mutable_data<float>();
    for (int64_t i = 0; i < v.count; ++i) {
      const int64_t first = v.First(i);
      const double norm = Norm2(v.n, v.stride, x + first);
      double dot = 0;
      for (int64_t j = 0; j < v.n; ++j) {
        dot += double{x[first + j * v.stride]} * dy[first + j * v.stride];
      }
      for (int64_t j = 0; j < v.n; ++j) {
        const int64_t at = first + j * v.stride;
        dx[at] = static_cast<float>(dy[at] / norm - x[at] * dot / (norm * norm * norm));
      }
    }
    return true;
  }

 private:
  int axis_;
};

class LpNormBase : public Operator<CPUContext> {
 public:
  LpNormBase(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        p_(GetSingleArgument<int>("p", 2)),
        average_(GetSingleArgument<bool>("average", false)) {
    CAFFE_ENFORCE(p_ == 1 || p_ == 2, "the argument p must be 1 or 2, not ", p_);
  }

 protected:
  double Divisor(const Tensor& X) const {
    return average_ ? std::max<double>(1, static_cast<double>(X.numel())) : 1;
  }
  int p_;
  bool average_;
};

class LpNormOp final : public LpNormBase {
 public:
  using LpNormBase::LpNormBase;
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    const float* x = X.data<float>();
    double sum = 0;
    for (int64_t i = 0; i < X.numel(); ++i) {
      sum += p_ == 1 ? std::fabs(double{x[i]}) : double{x[i]} * x[i];
    }
    Output(0)->Resize(1);
    *Output(0)->mutable_data<float>() = static_cast<float>(sum / Divisor(X));
    return true;
  }
};

// dX = sign(X) dZ for p = 1, 2 X dZ for p = 2
class LpNormGradientOp final : public LpNormBase {
 public:
  using LpNormBase::LpNormBase;
  bool RunOnDevice() override {
    const Tensor &X = Input(0), &dZ = Input(1);
    CAFFE_ENFORCE_EQ(dZ.numel(), 1, "elements of the gradient");
    const auto factor = static_cast<float>(*dZ.data<float>() / Divisor(X));
    const float* x = X.data<float>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    float* dx = dX->mutable_data<float>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      const auto sign = static_cast<float>((x[i] > 0) - (x[i] < 0));
      dx[i] = factor * (p_ == 1 ? sign : 2 * x[i]);
    }
    return true;
  }
};

void DescribeNormalize(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Arg("axis", "(int, default -1) The axis along which the vectors lie.")
      .Input(0, "X", "A float tensor.")
      .Output(0, "Y", "The result, shaped like X.");
}

void DescribeLpNorm(OpSchema& schema) {
  schema.Arg("p", "(int, default 2) 1: the sum of absolute values; 2: the sum of squares.")
      .Arg("average", "(bool, default 0) 1: divides by the number of elements.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Normalize, NormalizeOp<Norm2>);
REGISTER_CPU_OPERATOR(NormalizeL1, NormalizeOp<Norm1>);
REGISTER_CPU_OPERATOR(NormalizeGradient, NormalizeGradientOp);
REGISTER_CPU_OPERATOR(LpNorm, LpNormOp);
REGISTER_CPU_OPERATOR(LpNormGradient, LpNormGradientOp);

OPERATOR_SCHEMA(Normalize)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by their Euclidean norm (at least 1e-12).");
OPERATOR_SCHEMA(NormalizeL1)
    .FillUsing(DescribeNormalize)
    .SetDoc("Divides the vectors along an axis by the sum of their absolute values; zeros stay.");
OPERATOR_SCHEMA(NormalizeGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of Normalize: dX = (dY - Y (Y . dY)) / |X|.")
    .Arg("axis", "As in the forward operator.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dY", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
OPERATOR_SCHEMA(LpNorm)
    .NumInputs(1)
    .NumOutputs(1)
    .TensorInferenceFunction([](const OperatorDef&, const std::vector<TensorShape>&) {
      return std::vector<TensorShape>{CreateTensorShape({1}, TensorProto::FLOAT)};
    })
    .FillUsing(DescribeLpNorm)
    .SetDoc("The sum of |X|^p over all elements; no root is taken.")
    .Input(0, "X", "A float tensor of any shape.")
    .Output(0, "Z", "One float.");
OPERATOR_SCHEMA(LpNormGradient)
    .NumInputs(2)
    .NumOutputs(1)
    .IdenticalTypeAndShapeOfInput(0)
    .FillUsing(DescribeLpNorm)
    .SetDoc("The gradient of LpNorm.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "dZ", "The gradient of its output.")
    .Output(0, "dX", "The gradient of X.");
REGISTER_GRADIENT(Normalize, GradientRule<"I0 GO0 -> GI0">);
REGISTER_GRADIENT(LpNorm, GradientRule<"I0 GO0 -> GI0">);
SHOULD_NOT_DO_GRADIENT(NormalizeL1);

}  // namespace caffe2
