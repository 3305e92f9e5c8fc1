// Updates of parameters on CUDA devices. Pointers are device memory, and outputs may be inputs,
// element by element. A Rate is read on the device where its `address` is not null. Where
// `found_inf` is not null and not zero, a gradient is not finite: the step is zero, and state
// stays.
#pragma once

#include <cstdint>

#include "caffe2/cuda/stream.h"
#include "operators/optimizer/optimizer_functions.h"

namespace caffe2 {

// m' = momentum m + lr (g + weight_decay p); the step is a m' + b m (MomentumFactors,
// operators/optimizer/momentum_sgd_op.h), and p' = p - step. T: float or float16, computed in
// float.
template <typename T>
struct MomentumSgdStep {
  Rate lr;
  float momentum = 0, a = 1, b = 0, weight_decay = 0;
  const float* found_inf = nullptr;
  const T *grad = nullptr, *moment = nullptr;
  const T* param = nullptr;  // null: the parameter is left to another operator
  T *grad_out = nullptr, *moment_out = nullptr, *param_out = nullptr;  // grad_out may be null
};
template <typename T>
void LaunchMomentumSgd(int64_t n, const MomentumSgdStep<T>& update, cuda::Stream stream);

struct AdamStep {
  Rate lr;
  const float* found_inf = nullptr;
  float beta1 = 0, beta2 = 0, epsilon = 0;
  Rate correction;  // sqrt(1 - beta2^t) / (1 - beta1^t)
  const float *param = nullptr, *moment1 = nullptr, *moment2 = nullptr, *grad = nullptr;
  float *param_out = nullptr, *moment1_out = nullptr, *moment2_out = nullptr;
  float* grad_out = nullptr;  // may be null
};
void LaunchAdam(int64_t n, const AdamStep& update, cuda::Stream stream);

struct AdagradStep {
  Rate lr;
  const float* found_inf = nullptr;
  float epsilon = 0, decay = 0, weight_decay = 0;
  const float *param = nullptr, *moment = nullptr, *grad = nullptr;
  float *param_out = nullptr, *moment_out = nullptr;
  float *rate_out = nullptr, *update_out = nullptr;  // may be null
};
void LaunchAdagrad(int64_t n, const AdagradStep& update, cuda::Stream stream);

struct RmsPropStep {
  Rate lr;
  const float* found_inf = nullptr;
  float decay = 0, momentum = 0, epsilon = 0;
  const float *grad = nullptr, *mean_squares = nullptr, *moment = nullptr;
  float *grad_out = nullptr, *mean_squares_out = nullptr, *moment_out = nullptr;
};
void LaunchRmsProp(int64_t n, const RmsPropStep& update, cuda::Stream stream);

}  // namespace caffe2
