// Class labels for losses and metrics: one index for each row, int32 or int64.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/loss/loss_functions.h"

namespace caffe2 {

// The labels as int32, in device memory of the context. Returns the elements of int32 labels
// themselves. Converts int64 labels, numpy's default, in `copy`, which must live as long as the
// result is read. Throws EnforceNotMet for other types. Does not check that labels are below the
// number of classes.
template <class Context>
const int* IndexLabels(const Tensor& labels, Tensor* copy, Context* context) {
  if (!labels.dtype().template Match<int64_t>()) return labels.data<int>();
  copy->ResizeLike(labels);
  int* to = copy->template mutable_data<int>();
  ForEach(labels.numel(), NarrowLabels{labels.template data<int64_t>(), to}, context);
  return to;
}

}  // namespace caffe2
