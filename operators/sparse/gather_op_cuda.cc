// Gather, BatchGather and its gradient on CUDA devices.
#include "operators/sparse/gather_op.h"
#include "operators/sparse/indexed_rows_cuda.h"
#include "operators/sparse/row_kernels.h"

namespace caffe2 {

template <>
void GatherRows(const Tensor& indices, const RowLayout& layout, TypeMeta meta, const void* x,
                void* y, CUDAContext* context) {
  LaunchGatherRows(ListOfIndices(indices, layout), layout.outer,
                   layout.width * static_cast<int64_t>(meta.itemsize()), x, y, context->report(),
                   context->stream());
}

REGISTER_CUDA_OPERATOR(Gather, GatherOp<CUDAContext, 0>);
REGISTER_CUDA_OPERATOR(BatchGather, GatherOp<CUDAContext, 1>);
REGISTER_CUDA_OPERATOR(BatchGatherGradient, BatchGatherGradientOp<CUDAContext>);

}  // namespace caffe2
