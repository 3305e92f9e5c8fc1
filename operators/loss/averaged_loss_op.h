// AveragedLoss: the mean of all elements.
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
