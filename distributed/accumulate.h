// The addition inside reductions.
#pragma once

#include <cstdint>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

// sum[i] += x[i] for `count` elements; 16-bit floating types are added in float and rounded. Throws
// EnforceNotMet for types without addition.
void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count);
// Throws as Accumulate would.
inline void CheckCanAccumulate(TypeMeta type) { Accumulate(type, nullptr, nullptr, 0); }
// x[i] *= scale, likewise; integers are refused unless scale is 1.
void ScaleInPlace(TypeMeta type, float scale, void* x, int64_t count);

}  // namespace caffe2
