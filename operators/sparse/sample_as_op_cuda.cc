// SampleAs and its gradient on CUDA devices.
#include "operators/common/row_copier_cuda.h"
#include "operators/sparse/sample_as_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(SampleAs, SampleAsOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SampleAsGradient, SampleAsGradientOp<CUDAContext>);

}  // namespace caffe2
