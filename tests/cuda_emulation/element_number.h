// Elements of the types that the emulated libraries compute with, as numbers.
#pragma once

#include "caffe2/core/half.h"

namespace caffe2::cuda {

inline float ToNumber(float value) { return value; }
inline float ToNumber(float16 value) { return ToFloat(value); }
inline float ToNumber(bfloat16 value) { return ToFloat(value); }
inline void StoreNumber(double value, float* to) { *to = static_cast<float>(value); }
inline void StoreNumber(double value, float16* to) { *to = ToFloat16(static_cast<float>(value)); }
inline void StoreNumber(double value, bfloat16* to) { *to = ToBFloat16(static_cast<float>(value)); }

}  // namespace caffe2::cuda
