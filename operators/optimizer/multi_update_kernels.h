// Updates of many parameters on CUDA devices. Pointers are device memory.
#pragma once

#include "operators/common/rate.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/optimizer/update_rule.h"

namespace caffe2 {

// An update of contiguous elements. An output may overwrite the corresponding input.
template <class Rule>
struct BlockUpdate {
  Rule rule;
  Rate lr, correction;
  const float* found_inf = nullptr;  // if *found_inf != 0, the elements stay; may be null
  const float* scale = nullptr;      // the divisor of gradients; null: none
  const void* grad = nullptr;
  Number grad_type = Number::kFloat;  // or a 16-bit type: copy_type, if there is a copy
  const float* param = nullptr;
  const float* state[Rule::kStates] = {};
  float* param_out = nullptr;
  float* state_out[Rule::kStates] = {};
  void* copy = nullptr;                 // null: no copy is made
  Number copy_type = Number::kFloat16;  // or kBFloat16
};

// Updates n elements, which all decay by `decay`.
template <class Rule>
void LaunchUpdate(int64_t n, float decay, const BlockUpdate<Rule>& update, cuda::Stream stream);
// Updates blocks of n elements, a multiple of `chunk`, which is a multiple of 4. Elements of chunk
// i decay by decays[i] (in device memory). The blocks are aligned to 16 bytes.
template <class Rule>
void LaunchFlatUpdate(int64_t n, int64_t chunk, const float* decays,
                      const BlockUpdate<Rule>& update, cuda::Stream stream);

}  // namespace caffe2
