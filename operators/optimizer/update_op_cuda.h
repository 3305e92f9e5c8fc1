// The functions that update_op.h needs for CUDA devices. Rates and iterations in host memory go to
// kernels by value or, while a CUDA graph is recorded, through device memory.
#pragma once

#include "caffe2/core/device_backend.h"
#include "caffe2/cuda/host_values.h"
#include "operators/common/rate_input_cuda.h"
#include "operators/optimizer/update_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

// Like the version for the host. If the iteration is in device memory, waits for it.
template <CorrectedRule Rule>
Rate CorrectionOf(const Rule& rule, const Tensor& iter, CUDAContext* /*context*/) {
  CAFFE_ENFORCE(iter.numel() == 1, "the iteration counter must have one element, found shape ",
                ShapeString(iter.sizes()));
  cuda::HostValues* values = cuda::RecordedHostValues();
  if (values != nullptr && iter.GetDeviceType() == CPU) {
    const auto correction = [rule, count = iter.data<int64_t>()] {
      return rule.Correction(*count);
    };
    return {values->AddOf<float>(iter, correction)};
  }
  Tensor copy(CPU);
  return {nullptr, rule.Correction(*OnHost(iter, &copy).template data<int64_t>())};
}

}  // namespace caffe2
