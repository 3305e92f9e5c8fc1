// What steers updates on CUDA devices: numbers on the host, which go to kernels by value, or, while
// a CUDA graph is recorded, by way of device memory; or numbers on the device.
#pragma once

#include "caffe2/core/tensor.h"
#include "operators/optimizer/optimizer_kernels.h"

namespace caffe2 {

// The learning rate, a float tensor of one element.
Rate RateOf(const Tensor& lr);
// Adam's correction at the iteration that the tensor holds. One on the device is waited for.
Rate CorrectionOf(float beta1, float beta2, const Tensor& iter);

}  // namespace caffe2
