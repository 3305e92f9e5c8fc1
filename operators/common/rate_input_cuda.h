// Scalar inputs of updates, such as a learning rate, for functors on CUDA devices.
#pragma once

#include "caffe2/cuda/context_cuda.h"
#include "operators/common/rate.h"

namespace caffe2 {

// As RateFor on the host (rate_input.h). A scalar in host memory is read now; a scalar in device
// memory is read when the functor runs.
inline Rate RateFor(const Tensor& scalar, const char* what, CUDAContext* /*context*/) {
  const CudaScalar read = ReadScalar(scalar, what);
  return {read.address, read.value};
}

}  // namespace caffe2
