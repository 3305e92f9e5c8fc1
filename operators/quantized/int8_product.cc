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

Int8ProductOp::Int8ProductOp(const OperatorDef& def, Workspace* ws, LastInput last_input,
                             bool writes_parts)
    : Int8Operator(def, ws),
      result_(Quantization::Read(*this)),
      float_result_(GetSingleArgument<bool>(kDequantizeOutput, false)),
      constant_filter_(GetSingleArgument<bool>("constant_filter", false)),
      last_input_(last_input),
      has_bias_(InputSize() > (last_input == LastInput::kNone ? 2 : 3)),
      y_channels_(GetSingleArgument<int64_t>("Y_channels", 0)),
      y_channel_(GetSingleArgument<int64_t>("Y_channel", 0)),
      w_scales_(GetRepeatedArgument<float>("W_scales")) {
  CAFFE_ENFORCE(!(float_result_ && last_input_ != LastInput::kNone), type(), " does not take ",
                kDequantizeOutput);
  CAFFE_ENFORCE(writes_parts || (y_channels_ == 0 && y_channel_ == 0), type(),
                " writes all channels of Y: it does not take Y_channels and Y_channel");
  for (const float scale : w_scales_) {
    CAFFE_ENFORCE(scale > 0 && std::isfinite(scale),
                  "argument W_scales must have positive and finite scales, found ", scale);
  }
}

Int8ProductOp::Operands Int8ProductOp::Read(int64_t channels) const {
  Operands in{&Levels(0), &Levels(1), 0, 0, {}, nullptr, nullptr, nullptr};
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
  if (last_input_ == LastInput::kAddend) in.Z = &Levels(InputSize() - 1);
  if (last_input_ == LastInput::kJoined) in.J = &Levels(InputSize() - 1);
  return in;
}

std::vector<int64_t> Int8ProductOp::WholeDims(const Operands& in,
                                              const std::vector<int64_t>& dims) const {
  std::vector<int64_t> whole = dims;
  if (y_channels_ > 0) whole.back() = y_channels_;
  if (in.J != nullptr) {
    CAFFE_ENFORCE(in.J->t.dim() == static_cast<int>(dims.size()), "J must have ", dims.size(),
                  " axes, found shape ", ShapeString(in.J->t.sizes()));
    whole.back() = in.J->t.sizes().back();
    CAFFE_ENFORCE(in.J->t.sizes() == whole, "J must have the images and pixels of the result, ",
                  ShapeString(dims), ", found shape ", ShapeString(in.J->t.sizes()));
    CAFFE_ENFORCE(Quantization::Of(*in.J) == result_, "J is not quantized like the result: scale ",
                  in.J->scale, " and zero point ", in.J->zero_point);
  }
  CAFFE_ENFORCE(y_channel_ >= 0 && y_channel_ + dims.back() <= whole.back(), "the ", dims.back(),
                " channels from argument Y_channel (", y_channel_, ") on do not fit into ",
                whole.back(), " channels of Y");
  CAFFE_ENFORCE(!float_result_ || whole == dims, "argument Y_channels does not go with ",
                kDequantizeOutput);
  return whole;
}

Int8ProductOp::Result Int8ProductOp::MakeResult(const Operands& in,
                                                const std::vector<int64_t>& dims,
                                                Activation activation) {
  Result result;
  const std::vector<int64_t> whole = WholeDims(in, dims);
  result.step_ = whole.back();
  result.numel_ = CheckedNumel(dims);
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
    return result;
  }
  result.y_ = result_;
  Tensor* Y = SetResult(result_);
  const Int8TensorCPU* old = in.Z != nullptr ? in.Z : in.J;
  if (old != nullptr && !IsInputOutputAlias(InputSize() - 1, 0)) Y->CopyFrom(old->t);
  Y->Resize(whole);
  result.data_ = Y->mutable_data<uint8_t>() + y_channel_;
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
                  const int64_t at = (begin + i) * step_;
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
                              in.units, y.y_, y.accumulator_, y.activation_ == Activation::kRelu,
                              y.step_ != static_cast<int64_t>(in.units.size())});
    can_pack_ = packed_ != nullptr;
    if (!can_pack_) return false;
    packing_.x_dims = in.X->t.sizes();
    packing_.filter.ShareData(in.W->t);
    if (has_bias_) packing_.bias.ShareData(Bias());
    packing_.x = Quantization::Of(*in.X);
    packing_.w = Quantization::Of(*in.W);
    packing_.accumulator = y.accumulator_;
  }
  packed_->Run(in.X->t.data<uint8_t>(), y.data_, y.step_);
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
                 "are packed once, and where there is a kernel that writes levels, it scales exact "
                 "sums in float: a level may differ by one where the value lies in the middle "
                 "between two. Default 0: packed in every run, scaled in double.")
      .FillUsing(DescribeFloatResult);
}

}  // namespace caffe2::int8
