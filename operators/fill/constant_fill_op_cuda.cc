// Fills of CUDA tensors, and conversions of their elements.
#include "caffe2/cuda/context_cuda.h"
#include "operators/elementwise/cast_op.h"
#include "operators/elementwise/elementwise_kernels.h"
#include "operators/elementwise/elementwise_ops.h"
#include "operators/fill/constant_fill_op.h"

namespace caffe2 {
namespace {

Number NumberOf(TypeMeta type) {
  static const std::vector<std::pair<TypeMeta, Number>> numbers = {
      {TypeMeta::Make<float>(), Number::kFloat},
      {TypeMeta::Make<double>(), Number::kDouble},
      {TypeMeta::Make<float16>(), Number::kFloat16},
      {TypeMeta::Make<bfloat16>(), Number::kBFloat16},
      {TypeMeta::Make<bool>(), Number::kBool},
      {TypeMeta::Make<int8_t>(), Number::kInt8},
      {TypeMeta::Make<int16_t>(), Number::kInt16},
      {TypeMeta::Make<int32_t>(), Number::kInt32},
      {TypeMeta::Make<int64_t>(), Number::kInt64},
      {TypeMeta::Make<uint8_t>(), Number::kUInt8},
      {TypeMeta::Make<uint16_t>(), Number::kUInt16}};
  for (const auto& [meta, number] : numbers) {
    if (meta == type) return number;
  }
  CAFFE_THROW("no number: ", type.name());
}

struct CudaConvert {
  explicit CudaConvert(const OperatorBase&) {}
  template <typename T, typename R>
  void operator()(int64_t n, const T* x, R* y, CUDAContext* context) const {
    LaunchConvert(n, NumberOf(TypeMeta::Make<T>()), x, NumberOf(TypeMeta::Make<R>()), y,
                  context->stream());
  }
};
template <typename From, typename To>
using Convert = UnaryElementwiseOp<TensorTypes<From>, CUDAContext, CudaConvert, FixedType<To>>;
using FloatToHalf = Convert<float, float16>;
using HalfToFloat = Convert<float16, float>;

REGISTER_CUDA_OPERATOR(FloatToHalf, FloatToHalf);
REGISTER_CUDA_OPERATOR(HalfToFloat, HalfToFloat);

}  // namespace

template <>
void ConstantFillOp<CUDAContext>::FillOnDevice(int64_t n, void* data) {
  CAFFE_ENFORCE(filler_.meta().copy() == nullptr, "text exists in host memory only");
  LaunchFill(n, filler_.meta().itemsize(), filler_.bits(), data, context_.stream());
}

template <>
void CastOp<CUDAContext>::Convert(ConvertFunction, int64_t n, TypeMeta from, const void* x,
                                  TypeMeta to, void* y) {
  LaunchConvert(n, NumberOf(from), x, NumberOf(to), y, context_.stream());
}

REGISTER_CUDA_OPERATOR(ConstantFill, ConstantFillOp<CUDAContext>);
REGISTER_CUDA_OPERATOR(Cast, CastOp<CUDAContext>);

}  // namespace caffe2
