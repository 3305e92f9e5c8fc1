#include "operators/quantized/int8_product.h"

#include "caffe2/utils/parallel.h"
#include "caffe2/utils/simd.h"
#include "operators/common/element_type.h"

namespace caffe2::int8 {
namespace {

CAFFE2_SIMD_CLONES void RequantizeRow(int64_t n, const int32_t* sums, const double* multipliers,
                                      uint8_t zero_point, uint8_t min, uint8_t* y) {
  for (int64_t i = 0; i < n; ++i) y[i] = ToLevel(sums[i] * multipliers[i], zero_point, min);
}
// y = sums + factor * (y - accumulator_zero), in steps of the result.
CAFFE2_SIMD_CLONES void RequantizeSumRow(int64_t n, const int32_t* sums, const double* multipliers,
                                         double factor, int32_t accumulator_zero,
                                         uint8_t zero_point, uint8_t min, uint8_t* y) {
  for (int64_t i = 0; i < n; ++i) {
    y[i] = ToLevel(sums[i] * multipliers[i] + factor * (y[i] - accumulator_zero), zero_point, min);
  }
}
CAFFE2_SIMD_CLONES void DequantizeRow(int64_t n, const int32_t* sums, const double* units,
                                      double min, float* y) {
  for (int64_t i = 0; i < n; ++i) {
    const double value = sums[i] * units[i];
    y[i] = static_cast<float>(value > min ? value : min);
  }
}

}  // namespace

Int8ProductOp::Int8ProductOp(const OperatorDef& def, Workspace* ws, bool has_accumulator)
    : Int8Operator(def, ws),
      result_(Quantization::Read(*this)),
      float_result_(GetSingleArgument<bool>(kDequantizeOutput, false)),
      constant_filter_(GetSingleArgument<bool>("constant_filter", false)),
      has_accumulator_(has_accumulator),
      has_bias_(InputSize() > (has_accumulator ? 3 : 2)),
      w_scales_(GetRepeatedArgument<float>("W_scales")) {
  CAFFE_ENFORCE(!(float_result_ && has_accumulator_), type(), " does not take ", kDequantizeOutput);
  for (const float scale : w_scales_) {
    CAFFE_ENFORCE(scale > 0 && std::isfinite(scale),
                  "argument W_scales must have positive and finite scales, found ", scale);
  }
}

Int8ProductOp::Operands Int8ProductOp::Read(int64_t channels) const {
  Operands in{&Levels(0), &Levels(1), 0, 0, {}, nullptr, nullptr};
  const Quantization x = Quantization::Of(*in.X), w = Quantization::Of(*in.W);
  in.x_zero = x.zero_point;
  in.w_zero = w.zero_point;
  in.units.assign(channels, static_cast<double>(x.scale) * w.scale);
  if (!w_scales_.empty()) {
    CAFFE_ENFORCE(static_cast<int64_t>(w_scales_.size()) == channels,
                  "argument W_scales must have one scale for each of the ", channels,
                  " channels of Y, found ", w_scales_.size());
    for (int64_t c = 0; c < channels; ++c)
      in.units[c] = static_cast<double>(x.scale) * w_scales_[c];
  }
  if (has_bias_) {
    CAFFE_ENFORCE(Bias().numel() == channels, "the bias must have one value for each of the ",
                  channels, " channels of Y, found ", Bias().numel());
    in.bias = Bias().data<int32_t>();
  }
  if (has_accumulator_) in.Z = &Levels(InputSize() - 1);
  return in;
}

Int8ProductOp::Result Int8ProductOp::MakeResult(const Operands& in,
                                                const std::vector<int64_t>& dims,
                                                Activation activation) {
  Result result;
  result.units_ = in.units;
  result.activation_ = activation;
  if (in.Z != nullptr) {
    CAFFE_ENFORCE(in.Z->t.sizes() == dims, "Z must have the shape of Y: Z has shape ",
                  ShapeString(in.Z->t.sizes()), ", Y ", ShapeString(dims));
    result.accumulator_ = Quantization::Of(*in.Z);
  }
  if (float_result_) {
    Tensor* Y = Output(0);
    Y->Resize(dims);
    result.data_ = Y->mutable_data<float>();
    result.numel_ = Y->numel();
    return result;
  }
  result.y_ = result_;
  Tensor* Y = SetResult(result_);
  if (in.Z != nullptr && !IsInputOutputAlias(InputSize() - 1, 0)) Y->CopyFrom(in.Z->t);
  Y->Resize(dims);
  result.data_ = Y->mutable_data<uint8_t>();
  result.numel_ = Y->numel();
  return result;
}

void Int8ProductOp::Result::Write(int64_t begin, int64_t n, const int32_t* sums) const {
  const auto channels = static_cast<int64_t>(units_.size());
  const bool relu = activation_ == Activation::kRelu;
  std::vector<double> multipliers = units_;
  if (y_) {
    for (double& multiplier : multipliers) multiplier /= y_->scale;
  }
  ParallelFor(n, std::max<int64_t>(1, kElementwiseGrain / channels),
              [&](int64_t first, int64_t end) {
                for (int64_t i = first; i < end; ++i) {
                  const int32_t* row = sums + i * channels;
                  const int64_t at = (begin + i) * channels;
                  if (!y_) {
                    constexpr double kAny = -std::numeric_limits<double>::infinity();
                    DequantizeRow(channels, row, multipliers.data(), relu ? 0 : kAny,
                                  static_cast<float*>(data_) + at);
                    continue;
                  }
                  auto* y = static_cast<uint8_t*>(data_) + at;
                  const uint8_t zero = y_->zero_point, min = relu ? zero : 0;
                  if (accumulator_) {
                    RequantizeSumRow(channels, row, multipliers.data(),
                                     static_cast<double>(accumulator_->scale) / y_->scale,
                                     accumulator_->zero_point, zero, min, y);
                  } else {
                    RequantizeRow(channels, row, multipliers.data(), zero, min, y);
                  }
                }
              });
}

bool Int8ProductOp::IsLastFilter() {
  const Tensor& filter = Levels(1).t;
  if (constant_filter_ && filter.shares_storage_with(last_filter_)) return true;
  if (constant_filter_) last_filter_.ShareData(filter);
  return false;
}

bool Int8ProductOp::IsPackedFor(const Operands& in, const Result& y) const {
  return packed_ != nullptr && packing_.x_dims == in.X->t.sizes() &&
         packing_.filter.shares_storage_with(in.W->t) &&
         (!has_bias_ || packing_.bias.shares_storage_with(Bias())) &&
         packing_.x == Quantization::Of(*in.X) && packing_.w == Quantization::Of(*in.W) &&
         packing_.accumulator == y.accumulator_;
}

bool Int8ProductOp::RunPacked(const Operands& in, const ConvShape& shape, const Result& y) {
  if (!constant_filter_ || !can_pack_) return false;
  if (!IsPackedFor(in, y)) {
    packed_ =
        PackedInt8Conv::Make({shape, in.W->t.data<uint8_t>(), in.bias, in.x_zero, in.w_zero,
                              in.units, y.y_, y.accumulator_, y.activation_ == Activation::kRelu});
    can_pack_ = packed_ != nullptr;
    if (!can_pack_) return false;
    packing_.x_dims = in.X->t.sizes();
    packing_.filter.ShareData(in.W->t);
    if (has_bias_) packing_.bias.ShareData(Bias());
    packing_.x = Quantization::Of(*in.X);
    packing_.w = Quantization::Of(*in.W);
    packing_.accumulator = y.accumulator_;
  }
  packed_->Run(in.X->t.data<uint8_t>(), y.data_);
  return true;
}

void DescribeProduct(OpSchema& schema) {
  schema
      .ArgList<float>(
          "W_scales",
          "(each > 0) A scale for each of the M filters, in place of the filter's one scale. The "
          "scales of the bias are the products of X's scale and these.")
      .Arg<bool>("constant_filter",
                 "1: filter and bias do not change as long as their storage stays the same. They "
                 "are packed once, and where oneDNN has a kernel that writes levels, it scales "
                 "exact sums in float: a level may differ by one where the value lies in the "
                 "middle between two. Default 0: packed in every run, scaled in double.")
      .FillUsing(DescribeFloatResult);
}

}  // namespace caffe2::int8
