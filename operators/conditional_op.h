// What Conditional checks on all devices.
#pragma once

#include "caffe2/core/operator.h"

namespace caffe2 {

// Throws unless there are two tensors of one shape and type, and a condition for each row.
inline void CheckChoices(const Tensor& condition, const Tensor& yes, const Tensor& no) {
  CAFFE_ENFORCE(
      yes.sizes() == no.sizes() && yes.dtype() == no.dtype() && yes.has_data() && no.has_data(),
      "the choices differ: ", yes.DebugString(), " and ", no.DebugString());
  CAFFE_ENFORCE(condition.dim() == 1 && yes.dim() >= 1 && condition.numel() == yes.size(0),
                "there must be one condition for each row: condition ",
                ShapeString(condition.sizes()), ", data ", ShapeString(yes.sizes()));
}

}  // namespace caffe2
