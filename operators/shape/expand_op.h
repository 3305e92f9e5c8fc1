// Expand: repeats dimensions of 1, as NumPy's broadcasting does.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"
#include "operators/common/shape_input.h"

namespace caffe2 {

// The shape that X's shape and `wanted` broadcast to. -1 in `wanted` keeps a dimension of X.
inline std::vector<int64_t> ExpandedShape(const std::vector<int64_t>& x,
                                          std::vector<int64_t> wanted) {
  for (int64_t& size : wanted) {
    CAFFE_ENFORCE(size >= -1, "the new shape may not have a dimension below -1, found ",
                  ShapeString(wanted));
    if (size == -1) size = 1;
  }
  return BroadcastRule().OutputShape(x, wanted);
}

// An overload of RepeatElements, chosen by its last argument, does the work: y = x at every index
// of the plan, whose first operand is x.
template <class Context>
class ExpandOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ExpandOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), shape_(this->template GetRepeatedArgument<int64_t>("shape")) {}

  bool RunOnDevice() override { return NumericTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor& X = Input(0);
    const std::vector<int64_t> shape = ExpandedShape(
        X.sizes(), InputSize() > 1
                       ? ReadDimensions(this->template Input<Tensor>(1), "the new shape")
                       : shape_);
    Tensor* Y = Output(0);
    const T* x = X.data<T>();
    Y->Resize(shape);
    RepeatElements(MakeBroadcastPlan(X.sizes(), shape), x, Y->template mutable_data<T>(),
                   &context_);
    return true;
  }

 private:
  std::vector<int64_t> shape_;
};

// dY, X -> dX; SumTo of the device does the work (sum_to.h).
template <class Context>
class ExpandGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  using Operator<Context>::Operator;
  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &dY = Input(0), &X = Input(1);
    CAFFE_ENFORCE(ExpandedShape(X.sizes(), dY.sizes()) == dY.sizes(),
                  "dY must have a shape to which X expands: dY has shape ", ShapeString(dY.sizes()),
                  ", X ", ShapeString(X.sizes()));
    Tensor* dX = Output(0);
    dX->ResizeLike(X);
    SumTo(MakeBroadcastPlan(dY.sizes(), X.sizes()), dY.data<T>(), X.numel(),
          dX->template mutable_data<T>(), &context_);
    return true;
  }
};

}  // namespace caffe2
