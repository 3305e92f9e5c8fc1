// Functions of elements with parameters, integral images, locally connected layers, and what does
// nothing but order operators or place tensors, on CUDA devices.
#include "operators/common/nothing_op.h"
#include "operators/common/portable_cuda.h"
#include "operators/conv/locally_connected_op.h"
#include "operators/elementwise/piecewise_linear_transform_op.h"
#include "operators/elementwise/transform_op.h"
#include "operators/image/integral_image_op.h"
#include "operators/loss/padded_product_op.h"
#include "operators/shape/unsafe_coalesce_op.h"

namespace caffe2 {

REGISTER_CUDA_OPERATOR(Mod, ModOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(StumpFunc, StumpFuncOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(PiecewiseLinearTransform, PiecewiseLinearTransformOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BatchBoxCox, BatchBoxCoxOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SquareRootDivide, SquareRootDivideOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BernoulliJSD, BernoulliJSDOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(BernoulliJSDGradient, BernoulliJSDGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(SinusoidPositionEncoding, SinusoidPositionEncodingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DotProductWithPadding, DotProductWithPaddingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DotProductWithPaddingGradient, DotProductWithPaddingGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(IntegralImage, IntegralImageOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(IntegralImageGradient, IntegralImageGradientOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(UnsafeCoalesce, UnsafeCoalesceOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(AsyncNetBarrier, NothingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(DataCouple, NothingOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(ZeroGradient, NothingOp<CUDAContext>);

#define REGISTER_CUDA_LOCALLY_CONNECTED(name)                    \
  REGISTER_CUDA_OPERATOR(name, LocallyConnectedOp<CUDAContext>); \
  REGISTER_CUDA_OPERATOR(name##Gradient, LocallyConnectedGradientOp<CUDAContext>)
REGISTER_CUDA_LOCALLY_CONNECTED(LC);
REGISTER_CUDA_LOCALLY_CONNECTED(LC1D);
REGISTER_CUDA_LOCALLY_CONNECTED(LC2D);
REGISTER_CUDA_LOCALLY_CONNECTED(LC3D);
#undef REGISTER_CUDA_LOCALLY_CONNECTED

}  // namespace caffe2
