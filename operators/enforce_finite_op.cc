// EnforceFinite, which fails where a tensor has an infinite element or NaN, and EnsureClipped.
#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe2/core/operator.h"
#include "operators/indices.h"

namespace caffe2 {
namespace {

class EnforceFiniteOp final : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;
  bool RunOnDevice() override {
    return TensorTypes<float, double>::Dispatch(this, Input(0).dtype());
  }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    for (int64_t i = 0; i < X.numel(); ++i) {
      CAFFE_ENFORCE(std::isfinite(x[i]), "element ", i, " of ", debug_def().input(0), " ",
                    ShapeString(X.sizes()), " is ", x[i]);
    }
    return true;
  }
};

class EnsureClippedOp final : public Operator<CPUContext> {
 public:
  EnsureClippedOp(const OperatorDef& def, Workspace* ws)
      : Operator<CPUContext>(def, ws),
        min_(GetSingleArgument<float>("min", std::numeric_limits<float>::lowest())),
        max_(GetSingleArgument<float>("max", std::numeric_limits<float>::max())) {
    CAFFE_ENFORCE_LE(min_, max_, "the arguments min and max leave nothing");
  }

  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    if (InputSize() == 1) {
      Y->ResizeLike(X);
      Limit(X.numel(), X.data<float>(), Y->mutable_data<float>());
      return true;
    }
    CAFFE_ENFORCE(Y == &X, "rows are clipped in place");
    CAFFE_ENFORCE_GE(X.dim(), 1, "the parameter must have rows");
    const int64_t width = X.size_from_dim(1);
    float* y = Y->mutable_data<float>();
    for (const int64_t row : ReadIndices(Input(1), X.size(0))) {
      Limit(width, y + row * width, y + row * width);
    }
    return true;
  }

 private:
  void Limit(int64_t n, const float* x, float* y) const {
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] < min_ ? min_ : x[i] > max_ ? max_ : x[i];
  }
  float min_, max_;
};

}  // namespace

REGISTER_CPU_OPERATOR(EnforceFinite, EnforceFiniteOp);
REGISTER_CPU_OPERATOR(EnsureClipped, EnsureClippedOp);

OPERATOR_SCHEMA(EnforceFinite)
    .NumInputs(1)
    .NumOutputs(0)
    .SetDoc("Fails, naming the element, if one is infinite or NaN.")
    .Input(0, "X", "A tensor of float or double.");
OPERATOR_SCHEMA(EnsureClipped)
    .NumInputs(1, 3)
    .NumOutputs(1)
    .AllowInplace({{0, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc(
        "Limits a parameter to [min, max], or only its rows that have a gradient, in place. NaN "
        "stays NaN.")
    .Arg("min", "(float) Lower bound. Default: the lowest float.")
    .Arg("max", "(float) Upper bound. Default: the highest float.")
    .Input(0, "param", "The float parameter.")
    .Input(1, "indices", "Optional: the rows, int32 or int64.")
    .Input(2, "grad", "Their gradient, which is not read.")
    .Output(0, "output_param", "The parameter within its bounds.");
SHOULD_NOT_DO_GRADIENT(EnforceFinite);
SHOULD_NOT_DO_GRADIENT(EnsureClipped);

}  // namespace caffe2
