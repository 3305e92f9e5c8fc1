// EnsureClipped: limits a float parameter, or the rows that indices name, to [min, max] in place.
// param, [indices, grad] -> param; grad is not read.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/common/update_rows.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/optimizer/parameter_row_functions.h"

namespace caffe2 {

template <class Context>
class EnsureClippedOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  EnsureClippedOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), limit_(*this) {}
  bool RunOnDevice() override {
    const Tensor& X = Input(0);
    Tensor* Y = Output(0);
    if (InputSize() == 1) {
      const float* x = X.data<float>();
      Y->ResizeLike(X);
      MapElements(limit_, X.numel(), &context_, Y->template mutable_data<float>(), x);
      return true;
    }
    CAFFE_ENFORCE(Y == &X, "with indices the output must be the blob of the parameter");
    CAFFE_ENFORCE(X.dim() >= 1, "the parameter must have at least one axis, found a scalar");
    UpdateRows(Input(1), X.size(0), LimitRow{X.size_from_dim(1), limit_, UpdatedData<float>(Y)},
               &context_);
    return true;
  }

 private:
  const ClipFunction limit_;
};

}  // namespace caffe2
