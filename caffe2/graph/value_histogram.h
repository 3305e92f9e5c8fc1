// The distribution of the values that a blob takes, to choose the range that quantization keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2 {

struct ValueRange {
  float least = 0, most = 0;
};

// How the range of a blob follows from its values.
enum class RangeMethod {
  kMinMax,      // all values
  kLeastError,  // the part that makes the mean squared error of 256 levels least
};

// "minmax" or "mse"; throws EnforceNotMet for another word.
RangeMethod ParseRangeMethod(const std::string& word);

// Counts values in bins of one width, which doubles when a value lies outside.
class ValueHistogram {
 public:
  // Throws EnforceNotMet, naming the element, for a NaN or an infinity.
  void Add(int64_t n, const float* values);

  // A range that holds 0, {0, 0} without values.
  ValueRange Range(RangeMethod method) const;

 private:
  void Widen(float magnitude);
  ValueRange RangeOfLeastError() const;

  // Bin i holds [(i - kBins / 2) * width, + width).
  static constexpr int kBins = 8192;
  std::vector<int64_t> counts_;  // without zeros, which every range represents exactly
  float width_ = 0;
  ValueRange all_;
};

}  // namespace caffe2
