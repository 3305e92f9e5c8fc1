// Functions of elements with parameters on CUDA devices.
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/piecewise_linear_transform_op.h"
#include "operators/elementwise/transform_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Mod, ModOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(StumpFunc, StumpFuncOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PiecewiseLinearTransform, PiecewiseLinearTransformOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchBoxCox, BatchBoxCoxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SquareRootDivide, SquareRootDivideOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SinusoidPositionEncoding, SinusoidPositionEncodingOp<CUDAContext>);

}  // namespace caffe2
