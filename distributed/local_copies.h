// Copies of one tensor on several devices of this process.
#pragma once

#include "caffe2/core/tensor.h"
#include "distributed/accumulate.h"

namespace caffe2 {

class CPUContext;
class CUDAContext;

// sum += x, which may lie on another device than `sum`, the context's; types as Accumulate. Throws
// EnforceNotMet unless both have one type and size.
void AddCopy(const Tensor& x, Tensor* sum, CPUContext* context);
void AddCopy(const Tensor& x, Tensor* sum, CUDAContext* context);

// The first `count` elements of `source` to `destination`, which has room for them, wherever it is.
void GiveCopy(const Tensor& source, int64_t count, Tensor* destination, CPUContext* context);
void GiveCopy(const Tensor& source, int64_t count, Tensor* destination, CUDAContext* context);

// data *= scale, as ScaleInPlace.
void ScaleCopy(TypeMeta type, float scale, void* data, int64_t count, CPUContext* context);
void ScaleCopy(TypeMeta type, float scale, void* data, int64_t count, CUDAContext* context);

}  // namespace caffe2
