// Swish and Mish: Y = X g(X), with a gate g between 0 and 1.
#include <algorithm>
#include <cmath>

#include "operators/activation_op.h"
#include "operators/element_type.h"
#include "operators/gradient_rule.h"

namespace caffe2 {
namespace {

template <typename T>
T Sigmoid(T x) {
  return 1 / (1 + std::exp(-x));
}

// g(x) = s(x): dX = dY (Y + s(X) (1 - Y))
struct SwishGate {
  template <typename T>
  static T Value(T x) {
    return Sigmoid(x);
  }
  template <typename T>
  static T Slope(T x, T y) {
    return y + Sigmoid(x) * (1 - y);
  }
};

// g(x) = tanh(log(1 + exp(x))): dX = dY (g + X (1 - g^2) s(X))
struct MishGate {
  template <typename T>
  static T Value(T x) {
    // log(1 + exp(x)) without overflow.
    return std::tanh(std::max(x, T(0)) + std::log1p(std::exp(-std::abs(x))));
  }
  template <typename T>
  static T Slope(T x, T) {
    const T gate = Value(x);
    return gate + x * (1 - gate * gate) * Sigmoid(x);
  }
};

template <class Context, class Gate>
class GatedOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(GatedOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    const T* x = X.data<T>();
    T* y = Y->template mutable_data<T>();
    ParallelFor(X.numel(), kActivationGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        y[i] = Narrow<T>(Widen(x[i]) * Gate::Value(Widen(x[i])));
      }
    });
    return true;
  }
};

template <class Context, class Gate>
class GatedGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(GatedGradientOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor &X = Input(0), &Y = Input(1), &dY = Input(2);
    CAFFE_ENFORCE(X.numel() == Y.numel() && X.numel() == dY.numel(), "X ", ShapeString(X.sizes()),
                  ", Y ", ShapeString(Y.sizes()), " and dY ", ShapeString(dY.sizes()),
                  " differ in size");
    const T *x = X.data<T>(), *y = Y.data<T>(), *dy = dY.data<T>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    T* dx = dX->template mutable_data<T>();
    ParallelFor(X.numel(), kActivationGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        dx[i] = Narrow<T>(Widen(dy[i]) * Gate::Slope(Widen(x[i]), Widen(y[i])));
      }
    });
    return true;
  }
};

void DescribeGated(OpSchema& schema) {
  schema.NumInputs(1)
      .NumOutputs(1)
      .IdenticalTypeAndShape()
      .Input(0, "X", "A floating-point tensor of any shape.")
      .Output(0, "Y", "The result, of its type and shape.");
}
void DescribeGatedGradient(OpSchema& schema) {
  schema.NumInputs(3)
      .NumOutputs(1)
      .AllowInplace({{2, 0}})
      .IdenticalTypeAndShapeOfInput(0)
      .Input(0, "X", "The input of the forward operator.")
      .Input(1, "Y", "Its output.")
      .Input(2, "dY", "The gradient of the output.")
      .Output(0, "dX", "The gradient of the input; may overwrite dY.");
}

}  // namespace

REGISTER_CPU_OPERATOR(Swish, GatedOp<CPUContext, SwishGate>);
REGISTER_CPU_OPERATOR(SwishGradient, GatedGradientOp<CPUContext, SwishGate>);
REGISTER_CPU_OPERATOR(Mish, GatedOp<CPUContext, MishGate>);
REGISTER_CPU_OPERATOR(MishGradient, GatedGradientOp<CPUContext, MishGate>);

OPERATOR_SCHEMA(Swish)
    .FillUsing(DescribeGated)
    .SetDoc("Y = X / (1 + exp(-X)), element by element (Ramachandran et al., 2017).");
OPERATOR_SCHEMA(SwishGradient)
    .FillUsing(DescribeGatedGradient)
    .SetDoc("The gradient of Swish: dX = dY * (Y + s(X) (1 - Y)), with s the sigmoid.");
OPERATOR_SCHEMA(Mish)
    .FillUsing(DescribeGated)
    .SetDoc("Y = X tanh(log(1 + exp(X))), element by element (Misra, 2019).");
OPERATOR_SCHEMA(MishGradient)
    .FillUsing(DescribeGatedGradient)
    .SetDoc(
        "The gradient of Mish: dX = dY * (g + X (1 - g^2) s(X)), with g = tanh(log(1 + exp(X))) "
        "and s the sigmoid.");
REGISTER_GRADIENT(Swish, GradientRule<"I0 O0 GO0 -> GI0">);
REGISTER_GRADIENT(Mish, GradientRule<"I0 O0 GO0 -> GI0">);

}  // namespace caffe2
