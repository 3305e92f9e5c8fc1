// Internal to quantization: quantizes parameters. A level is a quantized value.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "caffe2/graph/value_histogram.h"

namespace caffe2 {

// The meaning of 256 levels: level q stands for scale * (q - zero_point).
struct LevelScale {
  float scale = 1;
  int zero_point = 0;

  // The levels for a range that contains 0. One level is exactly 0.
  static LevelScale For(const ValueRange& range);
};

// The storage order of a filter's levels.
enum class FilterLayout {
  kSame,          // the order of its floats
  kChannelsLast,  // M x C x kH x kW becomes M x kH x kW x C
  kColumnsLast,   // columns C x H x W of a matrix become H x W x C
};

// The float filter and bias of a Conv or FC.
struct FloatFilter {
  std::string name;
  const Tensor* values = nullptr;
  FilterLayout layout = FilterLayout::kSame;
  std::vector<int64_t> x_dims;  // shape of the operator's input in the float net
  float x_scale = 1;            // of the quantized input
  std::string bias_name;
  const Tensor* bias = nullptr;  // null if there is none
};
struct QuantizedFilter {
  std::string filter, bias;   // blobs
  std::vector<float> scales;  // one for each filter; empty if the blob's scale serves all
};

// Adds parameters to a workspace under new names.
class QuantizedParams {
 public:
  // `taken`: names that new parameters must not have, besides the names in the workspace.
  QuantizedParams(Workspace* ws, bool per_channel, std::set<std::string> taken)
      : ws_(ws), per_channel_(per_channel), taken_(std::move(taken)) {}

  // A new name that begins with `name` and that neither the workspace nor the net uses.
  std::string NewName(std::string name);
  // Adds the quantized filter and bias. Filter levels are symmetric: the zero point is 128 and the
  // scale is the largest magnitude / 127, or larger where the bias needs it. The bias is int32.
  // Throws EnforceNotMet, naming the blob, if the filter is empty, a value is not finite or the
  // bias does not have one value for each filter.
  QuantizedFilter Add(const FloatFilter& filter);
  // The parameters that were added.
  const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<float> ScalesOf(const FloatFilter& filter) const;
  void AddFilter(const FloatFilter& filter, const std::vector<float>& scales,
                 QuantizedFilter* result);

  Workspace* ws_;
  const bool per_channel_;
  std::set<std::string> taken_;
  std::vector<std::string> names_;
};

}  // namespace caffe2
