// Checks that optimizer operators share.
#pragma once

#include "caffe2/core/tensor.h"

namespace caffe2 {

// Throws EnforceNotMet naming both shapes unless `state` has as many elements as the parameter.
inline void CheckOptimizerState(const Tensor& param, const Tensor& state, const char* name) {
  CAFFE_ENFORCE_EQ(state.numel(), param.numel(), name, " ", ShapeString(state.sizes()),
                   " for parameter ", ShapeString(param.sizes()));
}

// The learning rate, a float tensor of one element.
inline const float* CheckLearningRate(const Tensor& lr) {
  CAFFE_ENFORCE_EQ(lr.numel(), 1, "the learning rate must be a scalar");
  return lr.data<float>();
}

// Elements a thread updates at least.
constexpr int64_t kOptimizerGrain = 1 << 14;

}  // namespace caffe2
