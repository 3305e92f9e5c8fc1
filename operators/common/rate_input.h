// Rates (rate.h) from inputs of operators on the host. rate_input_cuda.h has the same for devices.
#pragma once

#include "caffe2/core/context.h"
#include "caffe2/core/tensor.h"
#include "operators/common/rate.h"

namespace caffe2 {

// Throws EnforceNotMet, naming `what`, unless the tensor has one element.
inline Rate RateFor(const Tensor& scalar, const char* what, CPUContext* /*context*/) {
  CAFFE_ENFORCE(scalar.numel() == 1, what, " must have one element, found ", scalar.numel());
  return {scalar.data<float>()};
}

}  // namespace caffe2
