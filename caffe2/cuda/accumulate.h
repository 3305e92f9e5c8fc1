// In-place sums on a device, for collectives.
#pragma once

#include <cstdint>

#include "caffe2/core/type_meta.h"
#include "caffe2/cuda/stream.h"

namespace caffe2::cuda {

// sum[i] += x[i] on `stream`, for float, double, float16, bfloat16, int32, int64 and uint8
// elements. 16-bit types are added in float and rounded. Throws EnforceNotMet for other types.
void Accumulate(TypeMeta type, const void* x, void* sum, int64_t count, Stream stream);
// x[i] *= scale on `stream`, for float, double, float16 and bfloat16. Other types throw
// EnforceNotMet unless scale is 1.
void Scale(TypeMeta type, float scale, void* x, int64_t count, Stream stream);

}  // namespace caffe2::cuda
