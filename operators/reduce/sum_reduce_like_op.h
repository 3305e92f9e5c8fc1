// SumReduceLike: sums a tensor to the shape of an operand that was broadcast.
#pragma once

#include "operators/common/broadcast.h"
#include "operators/common/element_type.h"

namespace caffe2 {

// SumTo of the device does the work (sum_to.h).
template <class Context>
class SumReduceLikeOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  SumReduceLikeOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), rule_(ArgumentHelper(this->debug_def())) {
    rule_.legacy = true;  // this operator is the gradient of that rule
  }

  bool RunOnDevice() override { return FloatTypes::Dispatch(this, Input(0).dtype()); }

  template <typename T>
  bool DoRunWithType() {
    const Tensor &A = Input(0), &B = Input(1);
    const T* a = A.data<T>();
    const BroadcastPlan plan = rule_.Plan(A.sizes(), B.sizes());
    Tensor* C = Output(0);
    C->ResizeLike(B);
    SumTo(plan, a, C->numel(), C->template mutable_data<T>(), &context_);
    return true;
  }

 private:
  BroadcastRule rule_;
};

}  // namespace caffe2
