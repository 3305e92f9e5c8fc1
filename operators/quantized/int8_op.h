// Shared by the operators on quantized tensors (int8::Int8TensorCPU).
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "caffe2/core/operator.h"
#include "caffe2/core/tensor_int8.h"

namespace caffe2::int8 {

// Why the operators of the family have no version for GPUs (OpSchema::CpuOnly).
inline constexpr char kCpuOnly[] = "quantized networks are for inference on the CPU";

enum class Activation { kNone, kRelu };

// The level that lies `steps` (rounded, ties to even) above the zero point, clipped to [min, 255].
// NaN gives `min`. A level is a quantized value, uint8.
template <typename T>
uint8_t ToLevel(T steps, uint8_t zero_point, uint8_t min = 0) {
  constexpr T kMaxLevel = std::numeric_limits<uint8_t>::max();
  T level = std::nearbyint(steps) + zero_point;
  level = level > min ? level : min;
  return static_cast<uint8_t>(static_cast<int>(level < kMaxLevel ? level : kMaxLevel));
}

// A level q stands for scale * (q - zero_point).
struct Quantization {
  float scale = 1;
  uint8_t zero_point = 0;

  // The arguments Y_scale and Y_zero_point; missing ones are taken from `missing`, or 1 and 0.
  // Throws EnforceNotMet unless the scale is positive and the zero point is a level.
  static Quantization Read(const OperatorBase& op, const Quantization& missing);
  static Quantization Read(const OperatorBase& op) { return Read(op, Quantization()); }
  // Throws EnforceNotMet unless the tensor has a positive scale and a zero point that is a level.
  static Quantization Of(const Int8TensorCPU& x);

  float Dequantize(uint8_t level) const { return scale * static_cast<float>(level - zero_point); }
  uint8_t Quantize(float value) const { return ToLevel(value / scale, zero_point); }
  // Quantizes n values, in several threads.
  void Quantize(int64_t n, const float* values, uint8_t* levels) const;
  friend bool operator==(const Quantization&, const Quantization&) = default;
};

// Converts sums of products to levels. A sum of 1 has the value `unit`.
class Requantizer {
 public:
  Requantizer(double unit, const Quantization& y, Activation activation)
      : multiplier_(unit / y.scale),
        zero_point_(y.zero_point),
        min_level_(activation == Activation::kRelu ? y.zero_point : 0) {}
  uint8_t operator()(double sum) const {
    return ToLevel(sum * multiplier_, zero_point_, min_level_);
  }

 private:
  double multiplier_;
  uint8_t zero_point_, min_level_;
};

// The base of the operators. An output may be the blob of an input: read the input's quantization
// before SetResult.
class Int8Operator : public Operator<CPUContext> {
 public:
  using Operator<CPUContext>::Operator;

 protected:
  // Input i. Throws EnforceNotMet, naming the blob, unless it holds levels.
  const Int8TensorCPU& Levels(int i) const;
  // Output 0 with its quantization set, for the caller to resize and fill.
  Tensor* SetResult(const Quantization& quantization);
  // The quantization of X, for an operator that keeps it. Throws EnforceNotMet if Y_scale or
  // Y_zero_point are given and differ.
  Quantization Kept(const Int8TensorCPU& X) const;
};

// Throws EnforceNotMet unless the argument `order` is NHWC, the only order of quantized images.
void CheckChannelsLast(const OperatorBase& op);

// The argument that asks for a float result, as in Caffe2's engine DNNLOWP.
inline constexpr char kDequantizeOutput[] = "dequantize_output";
void DescribeFloatResult(OpSchema& schema);
// The type of the result of an operator with that argument.
TensorProto::DataType ResultType(const OperatorDef& def);

// Document Y_scale and Y_zero_point, for operators where they choose the result's quantization and
// for operators that keep the input's.
void DescribeResult(OpSchema& schema);
void DescribeKept(OpSchema& schema);

}  // namespace caffe2::int8
