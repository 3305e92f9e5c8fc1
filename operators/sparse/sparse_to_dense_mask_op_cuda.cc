// SparseToDenseMask and its gradient on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/common/host_list.h"
#include "operators/common/row_copier_cuda.h"
#include "operators/sequence/padding_functions.h"
#include "operators/sparse/sparse_to_dense_mask_op.h"

namespace caffe2 {

template <typename Word>
static void PickWords(const std::vector<int64_t>& source, int64_t width, const void* x,
                      const void* fallback, void* y, CUDAContext* context) {
  Tensor list(CPU);
  const auto* pad = static_cast<const Word*>(fallback);
  ForEachRow(static_cast<int64_t>(source.size()), width,
             PadRows<Word>{width, ListFor(source, &list, context), static_cast<const Word*>(x), pad,
                           pad, static_cast<Word*>(y)},
             context);
}
static void PickRows(TypeMeta meta, const std::vector<int64_t>& source, int64_t width,
                     const void* x, const void* fallback, void* y, CUDAContext* context) {
  switch (meta.itemsize()) {
    case 1:
      return PickWords<uint8_t>(source, width, x, fallback, y, context);
    case 2:
      return PickWords<uint16_t>(source, width, x, fallback, y, context);
    case 4:
      return PickWords<uint32_t>(source, width, x, fallback, y, context);
    default:
      CAFFE_ENFORCE(meta.itemsize() == sizeof(uint64_t), "elements of ", meta.name(), " have ",
                    meta.itemsize(), " bytes; at most ", sizeof(uint64_t),
                    " are supported on CUDA devices");
      return PickWords<uint64_t>(source, width, x, fallback, y, context);
  }
}

REGISTER_CUDA_OPERATOR(SparseToDenseMask, SparseToDenseMaskOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SparseToDenseMaskGradient, SparseToDenseMaskGradientOp<CUDAContext>);

}  // namespace caffe2
