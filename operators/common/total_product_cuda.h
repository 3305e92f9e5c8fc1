// The dot product of two tensors on CUDA devices.
#pragma once

#include "caffe2/cuda/reduction_kernels.h"
#include "operators/common/host_device_cuda.h"
#include "operators/reduce/product_functions.h"

namespace caffe2 {

// As on the host (total_product.h).
inline void TotalProduct(int64_t n, const float* a, const float* b, float* sum,
                         CUDAContext* context) {
  Tensor products(context->device()), scratch(context->device());
  products.Resize(n);
  scratch.Resize(cuda::kTotalScratch);
  float* product = products.mutable_data<float>();
  MapElements(Product(), n, context, product, a, b);
  cuda::LaunchTotal(cuda::Total::kSum, n, static_cast<const float*>(product), 1.0,
                    scratch.mutable_data<double>(), sum, context->stream());
}

}  // namespace caffe2
