// ReduceSum and its kin: reductions over chosen axes.
#pragma once

#include "operators/reduction.h"
#include "operators/wide_rows.h"

namespace caffe2 {

// The arguments `axes` (default: all) and `keepdims` (default: true), applied to shapes.
class ReduceAxes {
 public:
  explicit ReduceAxes(const ArgumentHelper& arguments)
      : axes_(arguments.GetRepeatedArgument<int>("axes")),
        keepdims_(arguments.GetSingleArgument<bool>("keepdims", true)) {}

  // The shape with the reduced dimensions set to 1. Throws for an axis that is out of range or
  // named twice.
  std::vector<int64_t> KeptShape(const std::vector<int64_t>& shape) const;
  // The shape of the result: as above, without the reduced dimensions unless keepdims.
  std::vector<int64_t> OutputShape(const std::vector<int64_t>& shape) const;

 private:
  std::vector<bool> Reduced(const std::vector<int64_t>& shape) const;

  std::vector<int> axes_;
  bool keepdims_;
};

// Y = the reduction R of X over the axes; F::Finish(value, count) completes each result of `count`
// elements.
template <class Context, class R, class F>
class ReduceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override {
    return TensorTypes<float, int32_t, int64_t, double, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    Tensor* Y = Output(0);
    Y->Resize(axes_.OutputShape(X.sizes()));
    WideOutput<T> wide_y;
    ArithmeticType<T>* y = wide_y.Row(Y->numel(), Y->template mutable_data<T>());
    Reduce<R>(plan, x, Y->numel(), y);
    const int64_t count = Y->numel() == 0 ? 0 : X.numel() / Y->numel();
    for (int64_t i = 0; i < Y->numel(); ++i) y[i] = F::Finish(y[i], count);
    wide_y.Store();
    return true;
  }

 private:
  ReduceAxes axes_;
};

// Inputs dY, X, Y; dX = F::Derivative(dy, x, y, count) at every element of X.
template <class Context, class F>
class ReduceGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override {
    return TensorTypes<float, double, bfloat16>::Dispatch(this, Input(0).dtype());
  }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &Y = Input(2);
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    CAFFE_ENFORCE(dY.sizes() == axes_.OutputShape(X.sizes()) && Y.numel() == dY.numel(),
                  "the gradient's shape ", ShapeString(dY.sizes()),
                  " is not that of the reduction of ", ShapeString(X.sizes()));
    const T *dy = dY.data<T>(), *x = X.data<T>(), *y = Y.data<T>();
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    T* dx = dX->template mutable_data<T>();
    const int64_t count = dY.numel() == 0 ? 0 : X.numel() / dY.numel();
    const int64_t stride = plan.b_inner_stride();
    ParallelRows(plan, kElementwiseGrain, [=](int64_t n, int64_t row, int64_t, int64_t iy) {
      for (int64_t i = 0; i < n; ++i) {
        const int64_t j = iy + i * stride;
        dx[row + i] = Narrow<T>(F::Derivative(Widen(dy[j]), Widen(x[row + i]), Widen(y[j]), count));
      }
    });
    return true;
  }

 private:
  ReduceAxes axes_;
};

}  // namespace caffe2
