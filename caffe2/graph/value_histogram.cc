#include "caffe2/graph/value_histogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

constexpr int kLevelSteps = 255;  // between 256 levels

// The squared error of values beyond `limit` that become `limit`, for every limit. Values are
// positive and given as the centres of bins, in ascending order.
class ClipError {
 public:
  ClipError(const std::vector<int64_t>& counts, double width) : width_(width) {
    tails_.resize(counts.size() + 1);
    for (size_t i = counts.size(); i-- > 0;) {
      const auto count = static_cast<double>(counts[i]);
      const double centre = (static_cast<double>(i) + 0.5) * width;
      const Tail& after = tails_[i + 1];
      tails_[i] = {after.count + count, after.sum + count * centre,
                   after.squares + count * centre * centre};
    }
  }
  double At(double limit) const {
    const Tail& tail = TailOf(limit);
    return tail.squares - 2 * limit * tail.sum + limit * limit * tail.count;
  }
  // The number of values that are not clipped.
  double Inside(double limit) const { return tails_[0].count - TailOf(limit).count; }

 private:
  struct Tail {
    double count = 0, sum = 0, squares = 0;
  };
  const Tail& TailOf(double limit) const {
    return tails_[std::min(static_cast<size_t>(limit / width_), tails_.size() - 1)];
  }

  std::vector<Tail> tails_;  // of the bins from i
  double width_;
};

}  // namespace

RangeMethod ParseRangeMethod(const std::string& word) {
  if (word == "minmax") return RangeMethod::kMinMax;
  if (word == "mse") return RangeMethod::kMinError;
  CAFFE_THROW("unknown method for ranges \"", word, "\"; known: minmax, mse");
}

void ValueHistogram::Widen(float magnitude) {
  if (width_ == 0) {
    counts_.assign(kBins, 0);
    // At least the least normal number: a width of 0 could not double, and 1 / width_ is finite.
    width_ = std::max(magnitude / (0.5f * kBins), std::numeric_limits<float>::min());
  }
  while (magnitude > width_ * (0.5f * kBins)) {
    std::vector<int64_t> wide(kBins);
    for (int i = 0; i < kBins; ++i) wide[kBins / 4 + i / 2] += counts_[i];
    counts_ = std::move(wide);
    width_ *= 2;
  }
}

void ValueHistogram::Add(int64_t n, const float* values) {
  ValueRange range = all_;
  float sum = 0;  // NaN if a value is not finite
  for (int64_t i = 0; i < n; ++i) {
    range.min = std::min(range.min, values[i]);
    range.max = std::max(range.max, values[i]);
    sum += values[i] * 0;
  }
  if (std::isnan(sum)) {
    const float* bad =
        std::find_if(values, values + n, [](float value) { return !std::isfinite(value); });
    CAFFE_THROW("element ", bad - values, " must be finite, found ", *bad);
  }
  all_ = range;
  const float magnitude = std::max(range.max, -range.min);
  if (magnitude == 0) return;
  Widen(magnitude);
  const float scale = 1 / width_;
  for (int64_t i = 0; i < n; ++i) {
    if (values[i] == 0) continue;
    const int bin = kBins / 2 + static_cast<int>(std::floor(values[i] * scale));
    ++counts_[std::clamp(bin, 0, kBins - 1)];
  }
}

ValueRange ValueHistogram::Range(RangeMethod method) const {
  return method == RangeMethod::kMinMax || counts_.empty() ? all_ : RangeOfMinError();
}

// Shortens the range, one end at a time, in steps of a hundredth, and takes the range with the
// least sum of squared errors. A clipped value has its distance from the range as error; rounding
// to levels of width w adds w^2 / 12 for each value inside.
ValueRange ValueHistogram::RangeOfMinError() const {
  constexpr int kParts = 100, kRounds = 2;
  const auto middle = counts_.begin() + kBins / 2;
  const ClipError above({middle, counts_.end()}, width_);
  const ClipError below({std::make_reverse_iterator(middle), counts_.rend()}, width_);
  const auto error = [&](double low, double high) {
    const double step = (high + low) / kLevelSteps;
    return above.At(high) + below.At(low) +
           (above.Inside(high) + below.Inside(low)) * step * step / 12;
  };
  double low = -all_.min, high = all_.max;
  for (int round = 0; round < kRounds; ++round) {
    for (double* end : {&high, &low}) {
      const double whole = end == &high ? all_.max : -all_.min;
      double best = *end, min = error(low, high);
      for (int part = 1; part <= kParts && whole > 0; ++part) {
        *end = whole * part / kParts;
        const double now = error(low, high);
        if (now < min) best = *end, min = now;
      }
      *end = best;
    }
  }
  return {static_cast<float>(-low), static_cast<float>(high)};
}

}  // namespace caffe2
