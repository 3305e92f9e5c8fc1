// Im2Col and Col2Im on CUDA devices.
#include "operators/common/host_device_cuda.h"
#include "operators/conv/im2col_op.h"

namespace caffe2 {

static void FillColumns(const ColumnElements& columns, int64_t n, CUDAContext* context) {
  ForEach(n, columns, context);
}

REGISTER_CUDA_OPERATOR(Im2Col, Im2ColOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Col2Im, Col2ImOp<CUDAContext>);

}  // namespace caffe2
