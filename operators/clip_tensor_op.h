// ClipTensorByScaling: scales a tensor down when its norm is over a threshold.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class ClipTensorByScalingOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  ClipTensorByScalingOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        threshold_(this->template GetSingleArgument<float>("threshold", 0.f)) {
    CAFFE_ENFORCE_GT(threshold_, 0, "argument threshold");
  }
  bool RunOnDevice() override;

 private:
  float threshold_;
};

}  // namespace caffe2
