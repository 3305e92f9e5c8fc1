// Glu, Swish, Mish and ReplaceNaN on CUDA devices.
#include "operators/activation/glu_op.h"
#include "operators/activation/swish_op.h"
#include "operators/common/optimizer_cuda.h"
#include "operators/common/portable_cuda.h"
#include "operators/elementwise/replace_nan_op.h"

namespace caffe2 {
namespace {

template <class Gate>
using Gated = GatedOp<CUDAContext, Gate>;
template <class Gate>
using GatedGradient = GatedGradientOp<CUDAContext, Gate>;

REGISTER_CUDA_OPERATOR(Glu, GluOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Swish, Gated<SwishGate>);
REGISTER_CUDA_OPERATOR(SwishGradient, GatedGradient<SwishGate>);
REGISTER_CUDA_OPERATOR(Mish, Gated<MishGate>);
REGISTER_CUDA_OPERATOR(MishGradient, GatedGradient<MishGate>);
REGISTER_CUDA_OPERATOR(ReplaceNaN, ReplaceNaNOp<CUDAContext>);

}  // namespace
}  // namespace caffe2
