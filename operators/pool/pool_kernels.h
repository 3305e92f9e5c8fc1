// Pooling over images of up to three spatial axes on the CPU, and its gradients.
#pragma once

#include <array>
#include <cstdint>

#include "operators/conv/conv_pool_shape.h"

namespace caffe2 {

enum class PoolKind { kMax, kAverage };

// The shapes of one pooling. Missing spatial axes have size 1 and come first.
struct PoolShape {
  int64_t batch = 0;
  int64_t channels = 0;
  bool channels_last = false;
  // For averages: divide by the whole window rather than by the part inside the image.
  bool count_include_pad = false;
  std::array<int64_t, 3> input{}, output{}, kernel{}, stride{}, pad{};

  static PoolShape Make(const ImageShape& x, const Window& window, bool channels_last,
                        bool count_include_pad);
};

// T is float or bfloat16. Sums are computed in float.
template <typename T>
void Pool(PoolKind kind, const PoolShape& shape, const T* x, T* y);
// The gradient of the maximum goes to every element that equals it, as in Caffe2's CPU operator.
// x and y are not read for averages.
template <typename T>
void PoolGradient(PoolKind kind, const PoolShape& shape, const T* x, const T* y, const T* dy,
                  T* dx);

}  // namespace caffe2
