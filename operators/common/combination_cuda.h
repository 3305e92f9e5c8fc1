// Combines any number of arrays into one on CUDA devices.
#pragma once

#include <vector>

#include "operators/common/combination_functions.h"
#include "operators/common/host_device_cuda.h"

namespace caffe2 {

// y[i] = the inputs at i, combined from the left, then times `factor`. 16-bit types are combined in
// float, for any number of inputs. y may be the first input.
template <typename T>
void CombineAll(Combination combination, const std::vector<const T*>& inputs, float factor,
                int64_t n, T* y, CUDAContext* context) {
  using Combine = CombineInputs<T>;
  using Wide = typename Combine::Wide;
  Tensor storage(context->device());
  Wide* partial = nullptr;
  if (inputs.size() > static_cast<size_t>(Combine::kMaxInputs)) {
    storage.Resize(n);
    partial = storage.mutable_data<Wide>();
  }
  for (size_t next = 0; next < inputs.size();) {
    Combine combine{.combination = combination,
                    .count = 0,
                    .x = {},
                    .factor = factor,
                    .start = next > 0 ? partial : nullptr,
                    .partial = nullptr,
                    .y = y};
    while (next < inputs.size() && combine.count < Combine::kMaxInputs) {
      combine.x[combine.count++] = inputs[next++];
    }
    if (next < inputs.size()) combine.partial = partial;
    ForEach(n, combine, context);
  }
}

}  // namespace caffe2
