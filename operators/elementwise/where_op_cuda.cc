#include "caffe2/cuda/context_cuda.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/where_op.h"

namespace caffe2 {

template <typename T>
void Select(int64_t rows, int64_t row, const bool* choose, const T* x, const T* y, T* z,
            CUDAContext* context) {
  LaunchSelect(rows * row, row, sizeof(T), choose, x, y, z, context->stream());
}

REGISTER_CUDA_OPERATOR(Where, WhereOp<CUDAContext>);

}  // namespace caffe2
