// The update of a dynamic loss scale, the same on all devices.
#pragma once

#include <cstdint>

#include "operators/common/host_device.h"

namespace caffe2 {

// found_inf multiplies the scale by backoff_factor; growth_interval runs in a row without it
// multiply it by growth_factor.
struct LossScaleRule {
  float growth_factor = 2.f, backoff_factor = 0.5f;
  int growth_interval = 2000;
};

struct LossScaleState {
  float scale = 1.f;
  int32_t good_steps = 0;  // since the scale last changed
};

// The next loss scale. A lowered scale is at least the smallest normal float16. A raised scale is
// at most 2^24: above that, even float gradients of a sensible loss could overflow.
CAFFE2_HOST_DEVICE inline LossScaleState NextLossScale(const LossScaleRule& rule,
                                                       LossScaleState state, bool found_inf) {
  constexpr float kMinScale = 0x1p-14f, kMaxScale = 0x1p24f;
  if (found_inf) {
    const float scale = state.scale * rule.backoff_factor;
    return {scale < kMinScale ? kMinScale : scale, 0};
  }
  if (state.good_steps + 1 < rule.growth_interval) return {state.scale, state.good_steps + 1};
  const float scale = state.scale * rule.growth_factor;
  return {scale > kMaxScale ? kMaxScale : scale, 0};
}

}  // namespace caffe2
