// Functions of elements with parameters, integral images, locally connected layers, and what does
// nothing but order operators or place tensors, on CUDA devices.
#include "operators/integral_image_op.h"
#include "operators/locally_connected_op.h"
#include "operators/nothing_op.h"
#include "operators/padded_product_op.h"
#include "operators/piecewise_linear_transform_op.h"
#include "operators/portable_cuda.h"
#include "operators/transform_op.h"
#include "operators/unsafe_coalesce_op.h"

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
