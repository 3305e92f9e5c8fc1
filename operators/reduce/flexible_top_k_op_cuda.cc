// FlexibleTopK and its gradient on CUDA devices.
#include <algorithm>

#include "operators/common/host_device_cuda.h"
#include "operators/reduce/flexible_top_k_op.h"
#include "operators/reduce/select_top_k_cuda.h"

namespace caffe2 {

// Selects the largest k of all rows in each row; then each row keeps its first k[row].
static void TakeLargest(const Segments& counts, int64_t width, const float* x, float* values,
                        int64_t* indices, CUDAContext* context) {
  int64_t max = 0;
  for (int64_t r = 0; r < counts.count(); ++r) max = std::max(max, counts.length(r));
  Tensor sorted(context->device()), sorted_at(context->device()), list(CPU);
  sorted.Resize(counts.count(), max);
  sorted_at.Resize(counts.count(), max);
  auto* best = sorted.mutable_data<float>();
  auto* best_at = sorted_at.mutable_data<int64_t>();
  SelectTopK<float>(counts.count(), {.n = width}, max, x, best, best_at, nullptr, context);
  ForEachRow(
      counts.count(), max,
      KeepFirst{max, ListFor(counts.Offsets(), &list, context), best, best_at, values, indices},
      context);
}

REGISTER_CUDA_OPERATOR(FlexibleTopK, FlexibleTopKOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(FlexibleTopKGradient, FlexibleTopKGradientOp<CUDAContext>);

}  // namespace caffe2
