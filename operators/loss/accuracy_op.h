// Accuracy: the share of rows whose label is among the top_k largest predictions. Predictions [N,
// D], labels [N] int32 or int64 -> a float scalar; 0 if N is 0.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

template <class Context>
class AccuracyOp final : public Operator<Context> {
 public:
  USE_OPERATOR_CONTEXT_FUNCTIONS;
  AccuracyOp(const OperatorDef& def, Workspace* ws)
      : Operator<Context>(def, ws), top_k_(this->template GetSingleArgument<int>("top_k", 1)) {
    CAFFE_ENFORCE(top_k_ > 0, "argument top_k must be positive, found ", top_k_);
  }
  bool RunOnDevice() override;

 private:
  int top_k_;
};

}  // namespace caffe2
