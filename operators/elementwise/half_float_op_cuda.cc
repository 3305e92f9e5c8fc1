#include "operators/common/host_device_cuda.h"
#include "operators/elementwise/half_float_op.h"
#include "operators/elementwise/unary_op.h"

namespace caffe2 {

template <typename From, typename To>
using HalfFloatOp = MapOp<CUDAContext, IdentityFunction, TensorTypes<From>, FixedType<To>>;

REGISTER_CUDA_OPERATOR(FloatToHalf, HalfFloatOp<float, float16>);
REGISTER_CUDA_OPERATOR(HalfToFloat, HalfFloatOp<float16, float>);

}  // namespace caffe2
