// ReduceSum and similar operators: reductions over chosen axes.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"
#include "operators/reduce/reduction_kind.h"

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

using ReduceTypes = TensorTypes<float, int32_t, int64_t, double, float16, bfloat16>;

// Y = the reduction of X over the axes. An overload of ReduceTo, chosen by its last argument, does
// the work on the device: y[j], j < results, is the reduction of the `count` elements of x that the
// plan maps to j.
template <class Context, Reduction kReduction>
class ReduceOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override { return ReduceTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const T* x = X.data<T>();
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    Tensor* Y = Output(0);
    Y->Resize(axes_.OutputShape(X.sizes()));
    const int64_t results = Y->numel(), count = results == 0 ? 0 : X.numel() / results;
    CAFFE_ENFORCE(
        !std::is_integral_v<T> || kReduction != Reduction::kMean || count > 0 || results == 0,
        "the mean of no integers is not defined");
    ReduceTo(kReduction, plan, x, results, count, Y->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  ReduceAxes axes_;
};

// Inputs dY, X, Y. ReduceGradientTo of the device computes dx: dy times the derivative, by each
// element of x, of the result y that the plan maps it to.
template <class Context, Reduction kReduction>
class ReduceGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ReduceGradientOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), axes_(ArgumentHelper(this->debug_def())) {}

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1), &Y = Input(2);
    const BroadcastPlan plan = MakeBroadcastPlan(X.sizes(), axes_.KeptShape(X.sizes()));
    CAFFE_ENFORCE(dY.sizes() == axes_.OutputShape(X.sizes()) && Y.numel() == dY.numel(),
                  "the gradient's shape ", ShapeString(dY.sizes()),
                  " is not the shape of the reduction of ", ShapeString(X.sizes()));
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    const int64_t count = dY.numel() == 0 ? 0 : X.numel() / dY.numel();
    ReduceGradientTo(kReduction, plan, count, dY.data<T>(), X.data<T>(), Y.data<T>(),
                     dX->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  ReduceAxes axes_;
};

}  // namespace caffe2
