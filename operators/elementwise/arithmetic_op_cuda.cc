#include "operators/elementwise/arithmetic_op.h"
#include "operators/elementwise/binary_op_cuda.h"

namespace caffe2 {
namespace {

struct DivisorCheck {
  template <typename T>
  void operator()(int64_t n, const T* b, CUDAContext* context) const {
    if constexpr (std::is_integral_v<T>) {
      LaunchDivisorCheck(n, b, context->report(), context->stream());
    }
  }
};

}  // namespace

REGISTER_CUDA_OPERATOR(Add, BinaryOp<CUDAContext, AddFunction, NumericTypes>);
REGISTER_CUDA_OPERATOR(Sub, BinaryOp<CUDAContext, SubFunction, NumericTypes>);
REGISTER_CUDA_OPERATOR(Mul, BinaryOp<CUDAContext, MulFunction, NumericTypes>);
REGISTER_CUDA_OPERATOR(Div,
                       BinaryOp<CUDAContext, DivFunction, NumericTypes, SameType, DivisorCheck>);
REGISTER_CUDA_OPERATOR(AddGradient, BinaryGradientOp<CUDAContext, AddFunction>);
REGISTER_CUDA_OPERATOR(SubGradient, BinaryGradientOp<CUDAContext, SubFunction>);
REGISTER_CUDA_OPERATOR(MulGradient, BinaryGradientOp<CUDAContext, MulFunction>);
REGISTER_CUDA_OPERATOR(DivGradient, BinaryGradientOp<CUDAContext, DivFunction>);

}  // namespace caffe2
