#include "caffe2/graph/quantized_params.h"

#include <algorithm>
#include <cmath>

#include "caffe2/core/logging.h"
#include "caffe2/core/tensor_int8.h"

namespace caffe2 {
namespace {

constexpr int kMaxLevel = 127, kFilterZero = 128, kSteps = 255;
// Sums of products reach about 2^30 beside a bias of this size.
constexpr double kMaxBias = 1 << 30;

void CheckFinite(const std::string& name, const Tensor& tensor) {
  const float* values = tensor.data<float>();
  for (int64_t i = 0; i < tensor.numel(); ++i) {
    CAFFE_ENFORCE(std::isfinite(values[i]), "parameter ", name, " cannot be quantized: element ", i,
                  " is ", values[i]);
  }
}

// Turns each of `rows` rows, C x spatial, into spatial x C.
std::vector<float> WithChannelsLast(const Tensor& tensor, int64_t rows, int64_t channels) {
  const float* from = tensor.data<float>();
  const int64_t size = tensor.numel() / std::max<int64_t>(rows, 1);
  const int64_t spatial = size / std::max<int64_t>(channels, 1);
  std::vector<float> result(tensor.numel());
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t i = 0; i < spatial; ++i) {
        result[r * size + i * channels + c] = from[r * size + c * spatial + i];
      }
    }
  }
  return result;
}

std::vector<float> Arranged(const FloatFilter& filter, std::vector<int64_t>* dims) {
  const Tensor& values = *filter.values;
  *dims = values.sizes();
  switch (filter.layout) {
    case FilterLayout::kSame:
      break;
    case FilterLayout::kChannelsLast:
      std::rotate(dims->begin() + 1, dims->begin() + 2, dims->end());
      return WithChannelsLast(values, values.size(0), values.size(1));
    case FilterLayout::kColumnsLast:
      *dims = {values.size(0), values.size_from_dim(1)};
      return WithChannelsLast(values, values.size(0), filter.x_dims.at(1));
  }
  return {values.data<float>(), values.data<float>() + values.numel()};
}

}  // namespace

LevelScale LevelScale::For(const ValueRange& range) {
  const double width = double{range.max} - range.min;
  const auto scale = static_cast<float>(width / kSteps);
  if (!(scale > 0) || !std::isnormal(scale)) return {};
  const auto zero = static_cast<int>(std::lround(-range.min / scale));
  return {scale, std::clamp(zero, 0, kSteps)};
}

std::string QuantizedParams::NewName(std::string name) {
  while (ws_->HasBlob(name) || !taken_.insert(name).second) name += "_";
  return name;
}

// The scale of each filter; large enough that its bias fits.
std::vector<float> QuantizedParams::ScalesOf(const FloatFilter& filter) const {
  const int64_t filters = filter.values->size(0), size = filter.values->size_from_dim(1);
  const float* values = filter.values->data<float>();
  std::vector<float> scales;
  for (int64_t m = 0; m < filters; ++m) {
    float max = 0;
    for (int64_t i = 0; i < size; ++i) max = std::max(max, std::abs(values[m * size + i]));
    const double bias = filter.bias == nullptr ? 0 : std::abs(filter.bias->data<float>()[m]);
    const double min = bias / (kMaxBias * filter.x_scale);
    const auto scale = static_cast<float>(std::max<double>(max / kMaxLevel, min));
    scales.push_back(std::isnormal(scale) ? scale : 1);
  }
  if (!per_channel_ && filters > 0) {
    std::fill(scales.begin(), scales.end(), *std::max_element(scales.begin(), scales.end()));
  }
  return scales;
}

void QuantizedParams::AddFilter(const FloatFilter& filter, const std::vector<float>& scales,
                                QuantizedFilter* result) {
  std::vector<int64_t> dims;
  const std::vector<float> values = Arranged(filter, &dims);
  const auto filters = static_cast<int64_t>(scales.size());
  const int64_t size = static_cast<int64_t>(values.size()) / std::max<int64_t>(filters, 1);
  std::vector<uint8_t> levels(values.size());
  for (int64_t i = 0; i < static_cast<int64_t>(values.size()); ++i) {
    const auto level = static_cast<int>(std::nearbyint(values[i] / scales[i / size]));
    levels[i] = static_cast<uint8_t>(kFilterZero + std::clamp(level, -kMaxLevel, kMaxLevel));
  }
  result->filter = NewName(filter.name + "_int8");
  auto* tensor = ws_->CreateLocalBlob(result->filter)->GetMutable<int8::Int8TensorCPU>();
  tensor->scale = *std::max_element(scales.begin(), scales.end());
  tensor->zero_point = kFilterZero;
  tensor->t = Tensor(dims, levels);
  names_.push_back(result->filter);
}

QuantizedFilter QuantizedParams::Add(const FloatFilter& filter) {
  CAFFE_ENFORCE(filter.values->numel() > 0, "parameter ", filter.name, " is empty");
  CheckFinite(filter.name, *filter.values);
  const int64_t filters = filter.values->size(0);
  if (filter.bias != nullptr) {
    CheckFinite(filter.bias_name, *filter.bias);
    CAFFE_ENFORCE(filter.bias->numel() == filters, "the bias ", filter.bias_name,
                  " must have one value for each of the ", filters, " rows of ", filter.name,
                  ", found ", filter.bias->numel());
  }
  const std::vector<float> scales = ScalesOf(filter);
  QuantizedFilter result;
  AddFilter(filter, scales, &result);
  if (per_channel_) result.scales = scales;
  if (filter.bias == nullptr) return result;
  std::vector<int32_t> bias(filters);
  for (int64_t m = 0; m < filters; ++m) {
    const double unit = double{filter.x_scale} * scales[m];
    const double steps = filter.bias->data<float>()[m] / unit;
    bias[m] = static_cast<int32_t>(std::lround(std::clamp(steps, -kMaxBias, kMaxBias)));
  }
  result.bias = NewName(filter.bias_name + "_int8");
  auto* tensor = ws_->CreateLocalBlob(result.bias)->GetMutable<int8::Int8TensorCPU>();
  tensor->scale = filter.x_scale * *std::max_element(scales.begin(), scales.end());
  tensor->zero_point = 0;
  tensor->t = Tensor({filters}, bias);
  names_.push_back(result.bias);
  return result;
}

}  // namespace caffe2
