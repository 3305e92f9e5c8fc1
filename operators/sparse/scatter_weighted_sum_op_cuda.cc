// ScatterWeightedSum on CUDA devices.
#include "operators/common/rate_input_cuda.h"
#include "operators/sparse/indexed_rows_cuda.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(ScatterWeightedSum, ScatterWeightedSumOp<CUDAContext>);

}  // namespace caffe2
