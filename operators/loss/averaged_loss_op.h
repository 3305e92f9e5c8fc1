// AveragedLoss: the mean of all elements of X, a float scalar; 0 if there are none. The gradient:
// X, d_mean -> dX.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class AveragedLossOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(AveragedLossOp);
  bool RunOnDevice() override;
};

template <class Context>
class AveragedLossGradientOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(AveragedLossGradientOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
