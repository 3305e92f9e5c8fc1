// The distribution of the values that a blob takes, to choose the range that quantization keeps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace caffe2 {

struct ValueRange {
  float min = 0, max = 0;
};

// How to choose the range of a blob from its values.
enum class RangeMethod {
  kMinMax,    // all values
  kMinError,  // the part of them for which 256 levels have the smallest mean squared error
};

// "minmax" or "mse"; throws EnforceNotMet for another word.
RangeMethod ParseRangeMethod(const std::string& word);

// Counts values in bins of equal width. The width doubles until all values fit.
class ValueHistogram {
 public:
  // Throws EnforceNotMet, naming the element, for a NaN or an infinity.
  void Add(int64_t n, const float* values);

  // A range that contains 0; {0, 0} if no value was added.
  ValueRange Range(RangeMethod method) const;

 private:
  void Widen(float magnitude);
  ValueRange RangeOfMinError() const;

  // Bin i holds [(i - kBins / 2) * width, + width).
  static constexpr int kBins = 8192;
  std::vector<int64_t> counts_;  // without zeros, which every range represents exactly
  float width_ = 0;
  ValueRange all_;
};

}  // namespace caffe2
