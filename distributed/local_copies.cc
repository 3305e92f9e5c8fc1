#include "distributed/local_copies.h"

#include "caffe2/core/context.h"

namespace caffe2 {

void AddTensor(const Tensor& x, Tensor* sum, CPUContext* /*context*/) {
  CAFFE_ENFORCE(x.dtype() == sum->dtype() && x.numel() == sum->numel(), "cannot add ",
                x.DebugString(), " to ", sum->DebugString());
  Accumulate(sum->dtype(), x.raw_data(), sum->raw_mutable_data(), sum->numel());
}

void CopyFirstElements(const Tensor& source, int64_t count, Tensor* destination,
                       CPUContext* context) {
  CAFFE_ENFORCE_LE(count, destination->numel());
  context->CopyItems(source.dtype(), count, source.raw_data(),
                     destination->raw_mutable_data(source.dtype()));
}

void ScaleInPlace(TypeMeta type, float scale, void* data, int64_t count, CPUContext* /*context*/) {
  ScaleInPlace(type, scale, data, count);
}

}  // namespace caffe2
