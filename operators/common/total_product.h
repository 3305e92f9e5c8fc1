// The dot product of two tensors.
#pragma once

#include "operators/common/host_device_op.h"
#include "operators/optimizer/optimizer_check.h"
#include "operators/reduce/product_functions.h"

namespace caffe2 {

// *sum = the sum of a[i] * b[i] for n elements, added in double. total_product_cuda.h has the
// version for CUDA devices.
inline void TotalProduct(int64_t n, const float* a, const float* b, float* sum,
                         CPUContext* context) {
  *sum = static_cast<float>(SumTerms(
      n, [a, b](int64_t i) { return static_cast<double>(a[i]) * b[i]; }, context));
}

}  // namespace caffe2
