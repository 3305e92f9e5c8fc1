#include "caffe2/cuda/accumulate.h"
#include "caffe2/cuda/context_cuda.h"
#include "distributed/local_copies.h"

namespace caffe2 {

void AddTensor(const Tensor& x, Tensor* sum, CUDAContext* context) {
  CAFFE_ENFORCE(x.dtype() == sum->dtype() && x.numel() == sum->numel(), "cannot add ",
                x.DebugString(), " to ", sum->DebugString());
  const void* addend = x.raw_data();
  Tensor here(sum->device());
  if (x.device() != sum->device()) {
    here.ResizeLike(x);
    void* copy = here.raw_mutable_data(x.dtype());
    CopyInOrder(x.nbytes(), x.raw_data(), x.device(), copy, here.device());
    addend = copy;
  }
  cuda::Accumulate(sum->dtype(), addend, sum->raw_mutable_data(), sum->numel(), context->stream());
}

void CopyFirstElements(const Tensor& source, int64_t count, Tensor* destination,
                       CUDAContext* /*context*/) {
  CAFFE_ENFORCE_LE(count, destination->numel());
  if (count == 0) return;
  CopyInOrder(count * source.itemsize(), source.raw_data(), source.device(),
              destination->raw_mutable_data(source.dtype()), destination->device());
}

void ScaleInPlace(TypeMeta type, float scale, void* data, int64_t count, CUDAContext* context) {
  cuda::Scale(type, scale, data, count, context->stream());
}

}  // namespace caffe2
