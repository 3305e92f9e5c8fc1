#include "operators/quantized/int8_op.h"

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

namespace caffe2::int8 {
namespace {

Quantization Checked(float scale, int64_t zero_point) {
  CAFFE_ENFORCE(scale > 0 && std::isfinite(scale), "a scale must be positive and finite, found ",
                scale);
  CAFFE_ENFORCE(zero_point >= 0 && zero_point <= std::numeric_limits<uint8_t>::max(),
                "a zero point must be from 0 to 255, found ", zero_point);
  return {scale, static_cast<uint8_t>(zero_point)};
}

CAFFE2_SIMD_CLONES void QuantizeAll(int64_t n, const float* x, float scale, uint8_t zero_point,
                                    uint8_t* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = ToLevel(x[i] / scale, zero_point);
}

}  // namespace

void Quantization::Quantize(int64_t n, const float* values, uint8_t* levels) const {
  ParallelFor(n, kElementwiseGrain, [&](int64_t begin, int64_t end) {
    QuantizeAll(end - begin, values + begin, scale, zero_point, levels + begin);
  });
}

Quantization Quantization::Read(const OperatorBase& op, const Quantization& missing) {
  return Checked(op.GetSingleArgument<float>("Y_scale", missing.scale),
                 op.GetSingleArgument<int64_t>("Y_zero_point", missing.zero_point));
}

Quantization Quantization::Of(const Int8TensorCPU& x) { return Checked(x.scale, x.zero_point); }

const Int8TensorCPU& Int8Operator::Levels(int i) const {
  const auto& x = Input<Int8TensorCPU>(i);
  CAFFE_ENFORCE(x.t.has_data() && x.t.IsType<uint8_t>(), "input ", i, " (", debug_def().input(i),
                ") is a quantized tensor of ", x.t.DebugString(), ", not of uint8_t");
  return x;
}

Tensor* Int8Operator::SetResult(const Quantization& quantization) {
  auto* y = Output<Int8TensorCPU>(0);
  y->scale = quantization.scale;
  y->zero_point = quantization.zero_point;
  return &y->t;
}

Quantization Int8Operator::Kept(const Int8TensorCPU& X) const {
  const Quantization x = Quantization::Of(X), y = Quantization::Read(*this, x);
  CAFFE_ENFORCE(x == y, type(), " keeps the quantization of X, scale ", x.scale, " and zero point ",
                int{x.zero_point}, ", but Y_scale and Y_zero_point are ", y.scale, " and ",
                int{y.zero_point});
  return x;
}

void CheckChannelsLast(const OperatorBase& op) {
  const auto order = op.GetSingleArgument<std::string>("order", "NCHW");
  CAFFE_ENFORCE(order == "NHWC", op.type(), " takes images in order NHWC only, found ", order);
}

void DescribeFloatResult(OpSchema& schema) {
  schema.Arg<bool>(kDequantizeOutput, "1: the result is float, a plain tensor. Default 0.");
}

TensorProto::DataType ResultType(const OperatorDef& def) {
  const bool floats = ArgumentHelper(def).GetSingleArgument<bool>(kDequantizeOutput, false);
  return floats ? TensorProto::FLOAT : TensorProto::UINT8;
}

void DescribeResult(OpSchema& schema) {
  schema.Arg<float>("Y_scale", "(> 0, default 1) The scale of the result.")
      .Arg<int>("Y_zero_point", "(0 to 255, default 0) The level that stands for 0 in the result.");
}

void DescribeKept(OpSchema& schema) {
  schema.Arg<float>("Y_scale", "The scale of X, which the result keeps.")
      .Arg<int>("Y_zero_point", "The zero point of X, which the result keeps.");
}

}  // namespace caffe2::int8
