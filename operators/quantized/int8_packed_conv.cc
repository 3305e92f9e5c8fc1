#include "operators/quantized/int8_packed_conv.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/parallel.h"

namespace caffe2::int8 {
namespace {

constexpr uint8_t kFilterZero = 128;  // int8_t filters are levels minus this

// The sum of each filter.
std::vector<int64_t> FilterSums(const std::vector<int8_t>& filter, int64_t filters) {
  const int64_t size = static_cast<int64_t>(filter.size()) / filters;
  std::vector<int64_t> sums(filters);
  for (int64_t m = 0; m < filters; ++m) {
    for (int64_t i = 0; i < size; ++i) sums[m] += filter[m * size + i];
  }
  return sums;
}

onednn::ByteEpilogue MakeEpilogue(const Int8ConvTerms& terms, const std::vector<int8_t>& filter) {
  onednn::ByteEpilogue epilogue;
  const double y_scale = terms.y ? terms.y->scale : 1;
  double offset = terms.y ? terms.y->zero_point : 0;
  if (terms.accumulator) {
    const double factor = terms.accumulator->scale / y_scale;
    epilogue.accumulator_factor = static_cast<float>(factor);
    offset -= factor * terms.accumulator->zero_point;
  }
  epilogue.float_dst = !terms.y;
  if (terms.relu && terms.y) epilogue.min = terms.y->zero_point;
  const auto filters = static_cast<int64_t>(terms.units.size());
  const std::vector<int64_t> sums = FilterSums(filter, filters);
  for (int64_t m = 0; m < filters; ++m) {
    const double multiplier = terms.units[m] / y_scale;
    const int64_t bias = terms.bias == nullptr ? 0 : terms.bias[m];
    epilogue.multipliers.push_back(static_cast<float>(multiplier));
    epilogue.offsets.push_back(static_cast<float>(
        multiplier * static_cast<double>(bias - terms.x_zero * sums[m]) + offset));
    CAFFE_ENFORCE(std::isfinite(epilogue.offsets[m] / epilogue.multipliers[m]),
                  "the scale of filter ", m, " is too small: ", terms.units[m]);
  }
  return epilogue;
}

}  // namespace

std::unique_ptr<PackedInt8Conv> PackedInt8Conv::Make(const Int8ConvTerms& terms) {
  if (!onednn::AddsBytesExactly()) {
    LOG_FIRST_N(WARNING, 1) << "this processor has no VNNI: quantized nets run in slower kernels";
    return nullptr;
  }
  if (terms.filter_zero != kFilterZero) {
    VLOG(1) << "a slower kernel computes an Int8Conv: its filter has the zero point "
            << int{terms.filter_zero};
    return nullptr;
  }
  try {
    return std::unique_ptr<PackedInt8Conv>(new PackedInt8Conv(terms));
  } catch (const Error& error) {
    LOG(WARNING) << "a slower kernel computes an Int8Conv: " << error.what();
    return nullptr;
  }
}

PackedInt8Conv::PackedInt8Conv(const Int8ConvTerms& terms)
    : x_(terms.shape.x), y_(terms.shape.y), padded_shape_(x_), x_zero_(terms.x_zero) {
  ConvShape shape = terms.shape;
  filter_.resize(CheckedNumel(shape.filter));
  std::transform(terms.filter, terms.filter + filter_.size(), filter_.begin(),
                 [](uint8_t level) { return static_cast<int8_t>(level - kFilterZero); });
  const onednn::ByteEpilogue epilogue = MakeEpilogue(terms, filter_);
  const bool adds = terms.accumulator.has_value();
  if (VnniConv::Supports(shape, epilogue, adds) && (terms.has_gaps || VnniConv::IsFaster(shape))) {
    vnni_ = std::make_unique<VnniConv>(shape, filter_.data(), x_zero_, epilogue, adds);
    filter_.clear();
    return;
  }
  Window& w = shape.window;
  if (HasPads(w) && x_zero_ != 0) {  // the kernel's pads are levels 0
    pad_begin_ = w.pad_begin;
    for (size_t i = 0; i < x_.spatial.size(); ++i) {
      padded_shape_.spatial[i] += w.pad_begin[i] + w.pad_end[i];
      w.pad_begin[i] = w.pad_end[i] = 0;
    }
    padded_.assign(x_.batch * padded_shape_.SpatialSize() * x_.channels, x_zero_);
    shape.x = padded_shape_;
  }
  onednn::ConvProblem problem =
      MakeConvProblem(shape, true, TypeMeta::Make<uint8_t>(), TypeMeta::Make<int8_t>(), TypeMeta());
  problem.add_to_dst = adds;
  problem.relu = terms.relu && !terms.y;  // levels are clipped
  conv_ = std::make_unique<onednn::ByteConvForward>(problem, epilogue);
}

const uint8_t* PackedInt8Conv::Padded(const uint8_t* x) {
  const int64_t height = x_.spatial[0], row = x_.spatial[1] * x_.channels;
  const int64_t padded_height = padded_shape_.spatial[0];
  const int64_t padded_row = padded_shape_.spatial[1] * x_.channels;
  ParallelFor(x_.batch * height, std::max<int64_t>(1, (1 << 15) / std::max<int64_t>(row, 1)),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  const int64_t to = i / height * padded_height + i % height + pad_begin_[0];
                  std::memcpy(padded_.data() + to * padded_row + pad_begin_[1] * x_.channels,
                              x + i * row, row);
                }
              });
  return padded_.data();
}

void PackedInt8Conv::Scatter(uint8_t* y, int64_t y_step) const {
  const int64_t channels = y_.channels;
  ParallelFor(y_.batch * y_.SpatialSize(), std::max<int64_t>(1, (1 << 15) / channels),
              [&](int64_t begin, int64_t end) {
                for (int64_t i = begin; i < end; ++i) {
                  std::memcpy(y + i * y_step, gapless_.data() + i * channels, channels);
                }
              });
}

void PackedInt8Conv::Run(const uint8_t* x, void* y, int64_t y_step) {
  if (vnni_) return vnni_->Run(x, static_cast<uint8_t*>(y), y_step);
  if (!padded_.empty()) x = Padded(x);
  if (y_step == y_.channels) return conv_->Run(x, filter_.data(), y);
  gapless_.resize(y_.batch * y_.SpatialSize() * y_.channels);
  conv_->Run(x, filter_.data(), gapless_.data());
  Scatter(static_cast<uint8_t*>(y), y_step);
}

}  // namespace caffe2::int8
