// RowWiseCounter on CUDA devices.
#include "operators/optimizer/row_wise_counter_op.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RowWiseCounter, RowWiseCounterOp<CUDAContext>);

}  // namespace caffe2
