// LengthsPad on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/segment/lengths_rows_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(LengthsPad, LengthsPadOp<CUDAContext>);

}  // namespace caffe2
