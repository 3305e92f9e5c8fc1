// Lars: a learning rate for each layer from the norms of its parameter and gradient.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class LarsOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  LarsOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws),
        offset_(this->template GetSingleArgument<float>("offset", 0.5f)),
        lr_min_(this->template GetSingleArgument<float>("lr_min", 0.02f)) {}
  bool RunOnDevice() override;

 private:
  enum { X, DX, WEIGHT_DECAY, TRUST, LR_MAX };
  float offset_, lr_min_;
};

}  // namespace caffe2
