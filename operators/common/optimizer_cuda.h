// Numbers that steer an update, for functors on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/rate.h"

namespace caffe2 {

// In host memory it is read now, on the device where the functor runs. As RateFor on the host
// (rate_input.h).
inline Rate RateFor(const Tensor& scalar, const char* what, CUDAContext* /*context*/) {
  const CudaScalar read = ReadScalar(scalar, what);
  return {read.address, read.value};
}

}  // namespace caffe2
