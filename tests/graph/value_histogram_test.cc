#include "caffe2/graph/value_histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"

namespace caffe2 {
namespace {

std::vector<float> Normal(int64_t n, float scale) {
  RandomGenerator random(7);
  std::vector<float> values;
  for (int64_t i = 0; i < n; ++i) {  // nearly normal: a sum of uniform numbers
    float sum = 0;
    for (int k = 0; k < 12; ++k) sum += random.Uniform();
    values.push_back(scale * (sum - 6));
  }
  return values;
}

// The mean squared error of the values as 256 levels of the range.
double ErrorOf(const std::vector<float>& values, const ValueRange& range) {
  const double step = (double{range.max} - range.min) / 255;
  double sum = 0;
  for (const float value : values) {
    const double clipped = std::min<double>(std::max<double>(value, range.min), range.max);
    const double level = std::rint((clipped - range.min) / step);
    sum += std::pow(value - range.min - level * step, 2);
  }
  return sum / static_cast<double>(values.size());
}

TEST(ValueHistogramTest, TheWholeRangeHoldsAllValuesAndZero) {
  ValueHistogram histogram;
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).max, 0) << "no values";
  const std::vector<float> values{3, 1, 2};
  histogram.Add(3, values.data());
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).min, 0);
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).max, 3);
  const std::vector<float> more{-5, 1000};
  histogram.Add(2, more.data());
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).min, -5);
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).max, 1000);
}

TEST(ValueHistogramTest, ValuesNearTheLeastNumberAreCounted) {
  ValueHistogram histogram;
  const std::vector<float> values{1e-44f, -3e-45f, 1e-36f};
  for (const float& value : values) histogram.Add(1, &value);
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).max, 1e-36f);
  EXPECT_EQ(histogram.Range(RangeMethod::kMinMax).min, -3e-45f);
  const ValueRange best = histogram.Range(RangeMethod::kMinError);
  EXPECT_LE(best.max, 1e-36f);
  EXPECT_LE(best.min, 0);
}

// One value far away: the levels are better spent on the others.
TEST(ValueHistogramTest, LeastErrorBeatsTheWholeRangeAndItsNeighbours) {
  for (const float outlier : {100.f, -100.f}) {
    std::vector<float> values = Normal(1'000'000, 1);
    ValueHistogram histogram;
    histogram.Add(static_cast<int64_t>(values.size()), values.data());
    histogram.Add(1, &outlier);
    values.push_back(outlier);
    const ValueRange whole = histogram.Range(RangeMethod::kMinMax);
    const ValueRange best = histogram.Range(RangeMethod::kMinError);
    EXPECT_LT(ErrorOf(values, best), ErrorOf(values, whole));
    for (const float factor : {0.7f, 1.4f}) {
      const ValueRange other{best.min * factor, best.max * factor};
      EXPECT_LT(ErrorOf(values, best), ErrorOf(values, other)) << factor;
    }
  }
}

// Zeros are exact in every range: they must not narrow it.
TEST(ValueHistogramTest, ZerosDoNotCount) {
  std::vector<float> values = Normal(10'000, 1);
  ValueHistogram some, many;
  some.Add(static_cast<int64_t>(values.size()), values.data());
  values.resize(1'000'000);
  many.Add(static_cast<int64_t>(values.size()), values.data());
  EXPECT_EQ(some.Range(RangeMethod::kMinError).max, many.Range(RangeMethod::kMinError).max);
}

TEST(ValueHistogramTest, ValuesThatAreNotFiniteAreNamed) {
  ValueHistogram histogram;
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), -std::numeric_limits<float>::infinity()}) {
    const std::vector<float> values{1, 2, bad, 3};
    try {
      histogram.Add(4, values.data());
      FAIL() << bad;
    } catch (const EnforceNotMet& error) {
      EXPECT_NE(std::string(error.what()).find("element 2 must be finite, found "),
                std::string::npos)
          << error.what();
    }
  }
  EXPECT_THROW(ParseRangeMethod("median"), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
