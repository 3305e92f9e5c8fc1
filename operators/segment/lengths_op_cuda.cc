// LengthsTile and LengthsGather on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/segment/lengths_rows_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LengthsTile, LengthsTileOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(LengthsGather, LengthsGatherOp<CUDAContext>);

}  // namespace caffe2
