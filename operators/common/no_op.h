// An operator that does nothing.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// For what only says how nets are to be ordered, or that there is no gradient.
template <class Context>
class NoOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(NoOp);
  bool RunOnDevice() override { return true; }
};

}  // namespace caffe2
