// The arithmetic of reductions on the host.
#pragma once

#include <cstdint>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

// sum[i] += x[i] for `count` elements of type float, double, float16, bfloat16, int32, int64 or
// uint8. float16 and bfloat16 are added in float and rounded; integers wrap. Throws EnforceNotMet
// for other types.
void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count);
// Throws EnforceNotMet if Accumulate does not support the type.
inline void CheckCanAccumulate(TypeMeta type) { Accumulate(type, nullptr, nullptr, 0); }
// x[i] *= scale, with the same rounding. Throws EnforceNotMet for integers unless scale is 1.
void ScaleInPlace(TypeMeta type, float scale, void* x, int64_t count);

}  // namespace caffe2
