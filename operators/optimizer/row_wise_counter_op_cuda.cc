// RowWiseCounter on CUDA devices.
#include "operators/common/update_rows_cuda.h"
#include "operators/optimizer/row_wise_counter_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(RowWiseCounter, RowWiseCounterOp<CUDAContext>);

}  // namespace caffe2
