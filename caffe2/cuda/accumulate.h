// Sums in place on a device, for what collectives add.
#pragma once

#include <cstdint>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// sum[i] += x[i]; float, double, float16 and bfloat16 (added in float and rounded), int32, int64,
// uint8. Throws EnforceNotMet for other types.
void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count, Stream stream);
// x[i] *= scale, likewise; integers are refused unless scale is 1.
void Scale(TypeMeta type, float scale, void* x, int64_t count, Stream stream);

}  // namespace caffe2::cuda
