// Arithmetic and copies between the devices of this process.
#pragma once

#include "caffe2/core/tensor.h"
#include "distributed/accumulate.h"

namespace caffe2 {

class CPUContext;
class CUDAContext;

// sum += x. `sum` lies on the context's device, `x` on any device. Takes the types of Accumulate.
// Throws EnforceNotMet unless both have the same type and number of elements.
void AddTensor(const Tensor& x, Tensor* sum, CPUContext* context);
void AddTensor(const Tensor& x, Tensor* sum, CUDAContext* context);

// Copies the first `count` elements of `source` to `destination`, on any device. Throws
// EnforceNotMet if `destination` has fewer elements.
void CopyFirstElements(const Tensor& source, int64_t count, Tensor* destination,
                       CPUContext* context);
void CopyFirstElements(const Tensor& source, int64_t count, Tensor* destination,
                       CUDAContext* context);

// Multiplies `count` elements by `scale`, as ScaleInPlace does, on the context's device.
void ScaleInPlace(TypeMeta type, float scale, void* data, int64_t count, CPUContext* context);
void ScaleInPlace(TypeMeta type, float scale, void* data, int64_t count, CUDAContext* context);

}  // namespace caffe2
