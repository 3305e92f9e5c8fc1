// JoinSideStream: waits for work that an earlier operator put on a second stream.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// dfilter, [dbias], ... -> dfilter, [dbias], in place. The address of dfilter identifies the work.
template <class Context>
class JoinSideStreamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(JoinSideStreamOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
