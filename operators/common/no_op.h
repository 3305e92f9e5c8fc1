// An operator that does nothing.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// For operators that only order a net (DataCouple) or mark that there is no gradient
// (ZeroGradient).
template <class Context>
class NoOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(NoOp);
  bool RunOnDevice() override { return true; }
};

}  // namespace caffe2
