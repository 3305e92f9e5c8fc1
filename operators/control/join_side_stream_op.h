// JoinSideStream: where work that an earlier operator put into a second stream must be done.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// dfilter, [dbias], ... -> dfilter, [dbias], in place; the first names the work.
template <class Context>
class JoinSideStreamOp final : public Operator<Context> {
 public:
  USE_OPERATOR_FUNCTIONS(JoinSideStreamOp);
  bool RunOnDevice() override;
};

}  // namespace caffe2
