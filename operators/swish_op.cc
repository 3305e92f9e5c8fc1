// Swish: Y = X s(X) with the sigmoid s.
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

template <class Context>
class SwishOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SwishOp);
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }
  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    Y->ResizeLike(X);
    const T* x = X.data<T>();
    T* y = Y->template mutable_data<T>();
    ParallelFor(X.numel(), kActivationGrain, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = Narrow<T>(Widen(x[i]) * Sigmoid(Widen(x[i])));
    });
    return true;
  }
};

// dX = dY (Y + s(X) (1 - Y))
template <class Context>
class SwishGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(SwishGradientOp);
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
        const auto value = Widen(y[i]);
        dx[i] = Narrow<T>(Widen(dy[i]) * (value + Sigmoid(Widen(x[i])) * (1 - value)));
      }
    });
    return true;
  }
};

}  // namespace

REGISTER_CPU_OPERATOR(Swish, SwishOp<CPUContext>);
REGISTER_CPU_OPERATOR(SwishGradient, SwishGradientOp<CPUContext>);

OPERATOR_SCHEMA(Swish)
    .NumInputs(1)
    .NumOutputs(1)
    .IdenticalTypeAndShape()
    .SetDoc("Y = X / (1 + exp(-X)), element by element (Ramachandran et al., 2017).")
    .Input(0, "X", "A floating-point tensor of any shape.")
    .Output(0, "Y", "The result, of its type and shape.");
OPERATOR_SCHEMA(SwishGradient)
    .NumInputs(3)
    .NumOutputs(1)
    .AllowInplace({{2, 0}})
    .IdenticalTypeAndShapeOfInput(0)
    .SetDoc("The gradient of Swish: dX = dY * (Y + s(X) (1 - Y)), with s the sigmoid.")
    .Input(0, "X", "The input of the forward operator.")
    .Input(1, "Y", "Its output.")
    .Input(2, "dY", "The gradient of the output.")
    .Output(0, "dX", "The gradient of the input; may overwrite dY.");
REGISTER_GRADIENT(Swish, GradientRule<"I0 O0 GO0 -> GI0">);

}  // namespace caffe2
