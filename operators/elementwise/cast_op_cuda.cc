#include "caffe2/cuda/context_cuda.h"
#include "operators/elementwise/cast_op.h"
#include "operators/elementwise/elementwise_kernels.h"

namespace caffe2 {

static Number NumberOf(TypeMeta type) {
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
  CAFFE_THROW("cannot cast elements of type ", type.name(), ", which are not numbers");
}

template <>
void CastOp<CUDAContext>::Convert(ConvertFunction, int64_t n, TypeMeta from, const void* x,
                                  TypeMeta to, void* y) {
  LaunchConvert(n, NumberOf(from), x, NumberOf(to), y, context_.stream());
}

REGISTER_CUDA_OPERATOR(Cast, CastOp<CUDAContext>);

}  // namespace caffe2
