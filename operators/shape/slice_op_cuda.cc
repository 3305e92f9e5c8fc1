// Slice and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/shape/slice_op.h"
#include "operators/shape/transpose_kernels.h"

namespace caffe2 {
namespace {

// The strides of the elements of a box in its tensor.
Permutation StridesOfBox(const std::vector<int64_t>& dims, const TensorBox& box) {
  Permutation strides;
  strides.dims = static_cast<int>(dims.size());
  CAFFE_ENFORCE(strides.dims <= Permutation::kMaxDims, "a slice can have at most ",
                Permutation::kMaxDims, " axes on CUDA devices, found ", strides.dims);
  int64_t stride = 1;
  for (int d = strides.dims - 1; d >= 0; --d) {
    strides.size[d] = box.size[d];
    strides.stride[d] = stride;
    stride *= dims[d];
  }
  return strides;
}
size_t FirstByteOfBox(const Permutation& strides, const TensorBox& box, size_t itemsize) {
  int64_t first = 0;
  for (int d = 0; d < strides.dims; ++d) first += box.start[d] * strides.stride[d];
  return first * itemsize;
}

}  // namespace

template <>
void TakeBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* x,
             void* y, CUDAContext* context) {
  const Permutation strides = StridesOfBox(dims, box);
  LaunchPermute(strides, CheckedNumel(box.size), meta.itemsize(),
                static_cast<const char*>(x) + FirstByteOfBox(strides, box, meta.itemsize()), y,
                context->stream());
}
template <>
void PutBox(TypeMeta meta, const std::vector<int64_t>& dims, const TensorBox& box, const void* y,
            void* x, CUDAContext* context) {
  const Permutation strides = StridesOfBox(dims, box);
  LaunchPutPermuted(strides, CheckedNumel(box.size), meta.itemsize(), y,
                    static_cast<char*>(x) + FirstByteOfBox(strides, box, meta.itemsize()),
                    context->stream());
}

REGISTER_CUDA_OPERATOR(Slice, SliceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SliceGradient, SliceGradientOp<CUDAContext>);

}  // namespace caffe2
