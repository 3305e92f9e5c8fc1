// RmsProp: gradients divided by a running mean of their size (Tieleman & Hinton, 2012).
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class RmsPropOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  RmsPropOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        decay_(this->template GetSingleArgument<float>("decay", 0.9f)),
        momentum_(this->template GetSingleArgument<float>("momentum", 0.f)),
        epsilon_(this->template GetSingleArgument<float>("epsilon", 1e-5f)) {}
  bool RunOnDevice() override;

 private:
  enum { GRAD, MEAN_SQUARES, MOMENTUM, LR, FOUND_INF };
  enum { GRAD_OUT, MEAN_SQUARES_OUT, MOMENTUM_OUT };
  float decay_, momentum_, epsilon_;
};

}  // namespace caffe2
