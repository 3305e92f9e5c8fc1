#include "caffe2/utils/pointwise_conv.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "caffe2/core/random.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_processor.h"

namespace caffe2::onednn {
namespace {

struct PointwiseCase {
  const char* name;
  int64_t images, height, width, channels, filters, stride_y, stride_x;
  bool bias = false, add = false, relu = false;
};

int64_t OutSize(int64_t size, int64_t stride) { return (size - 1) / stride + 1; }

template <typename T>
ConvProblem PointwiseProblem(const PointwiseCase& c) {
  ConvProblem p;
  p.src = {c.images, c.channels, c.height, c.width};
  p.filter = {c.filters, c.channels, 1, 1};
  p.dst = {c.images, c.filters, OutSize(c.height, c.stride_y), OutSize(c.width, c.stride_x)};
  p.stride = {c.stride_y, c.stride_x};
  p.dilation = {1, 1};
  p.pad_begin = {0, 0};
  p.channels_last = true;
  p.type = TypeMeta::Make<T>();
  p.filter_type = TypeMeta::Make<float>();
  if (c.bias) p.bias_type = TypeMeta::Make<float>();
  p.add_to_dst = c.add;
  p.relu = c.relu;
  return p;
}

// Numbers that bfloat16 holds exactly.
std::vector<float> ExactNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = ToFloat(ToBFloat16(random.Uniform() - 0.5f));
  return numbers;
}

template <typename T>
std::vector<T> ConvertedTo(const std::vector<float>& numbers) {
  std::vector<T> result(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) Store(numbers[i], &result[i]);
  return result;
}

// body(pixel of src, pixel of dst)
template <class Body>
void ForEachWindow(const PointwiseCase& c, const Body& body) {
  const int64_t height = OutSize(c.height, c.stride_y), width = OutSize(c.width, c.stride_x);
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        body((n * c.height + y * c.stride_y) * c.width + x * c.stride_x,
             (n * height + y) * width + x);
      }
    }
  }
}

template <typename T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-6 : 1. / 256;

template <typename T>
void ExpectNear(const std::vector<T>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(Widen(found[i]), expected[i], (std::abs(expected[i]) + 0.5) * kTolerance<T>) << i;
  }
}

template <typename T>
void ExpectForward(const PointwiseCase& c) {
  const ConvProblem problem = PointwiseProblem<T>(c);
  ASSERT_TRUE(PointwiseConv::Supports(problem, ConvDirection::kForward));
  const auto src = ExactNumbers(c.images * c.height * c.width * c.channels, 1);
  const auto filter = ExactNumbers(c.filters * c.channels, 2), bias = ExactNumbers(c.filters, 3);
  const auto before = ExactNumbers(problem.dst[0] * problem.dst[2] * problem.dst[3] * c.filters, 4);
  std::vector<double> expected(before.size());
  ForEachWindow(c, [&](int64_t from, int64_t to) {
    for (int64_t m = 0; m < c.filters; ++m) {
      double sum = (c.bias ? bias[m] : 0.) + (c.add ? before[to * c.filters + m] : 0.);
      for (int64_t i = 0; i < c.channels; ++i) {
        sum += static_cast<double>(src[from * c.channels + i]) * filter[m * c.channels + i];
      }
      expected[to * c.filters + m] = c.relu ? std::max(sum, 0.) : sum;
    }
  });
  auto dst = ConvertedTo<T>(before);
  PointwiseConv(problem, ConvDirection::kForward)
      .Run(ConvertedTo<T>(src).data(), filter.data(), c.bias ? bias.data() : nullptr, dst.data());
  ExpectNear(dst, expected);
}

template <typename T>
void ExpectDataGradient(const PointwiseCase& c) {
  ConvProblem problem = PointwiseProblem<T>(c);
  problem.bias_type = TypeMeta();
  ASSERT_TRUE(PointwiseConv::Supports(problem, ConvDirection::kBackwardData));
  const auto d_dst = ExactNumbers(problem.dst[0] * problem.dst[2] * problem.dst[3] * c.filters, 1);
  const auto filter = ExactNumbers(c.filters * c.channels, 2);
  const auto before = ExactNumbers(c.images * c.height * c.width * c.channels, 3);
  std::vector<double> expected(before.size());
  if (c.add) expected.assign(before.begin(), before.end());
  ForEachWindow(c, [&](int64_t pixel, int64_t from) {
    for (int64_t i = 0; i < c.channels; ++i) {
      for (int64_t m = 0; m < c.filters; ++m) {
        expected[pixel * c.channels + i] +=
            static_cast<double>(d_dst[from * c.filters + m]) * filter[m * c.channels + i];
      }
    }
  });
  auto d_src = ConvertedTo<T>(before);
  PointwiseConv(problem, ConvDirection::kBackwardData)
      .Run(ConvertedTo<T>(d_dst).data(), filter.data(), nullptr, d_src.data());
  ExpectNear(d_src, expected);
}

class PointwiseConvTest : public ::testing::TestWithParam<PointwiseCase> {
 protected:
  template <typename Expect>
  void WithThreads(const Expect& expect) {
    const int threads = omp_get_max_threads();
    for (const int count : {1, 3}) {
      omp_set_num_threads(count);
      expect();
    }
    omp_set_num_threads(threads);
  }
};

TEST_P(PointwiseConvTest, EqualsTheSumsOfProductsInFloat) {
  if (!HasTileInstructions<float>()) GTEST_SKIP() << "needs AVX-512";
  WithThreads([] {
    ExpectForward<float>(GetParam());
    ExpectDataGradient<float>(GetParam());
  });
}
TEST_P(PointwiseConvTest, EqualsTheSumsOfProductsInBFloat16) {
  if (!HasTileInstructions<bfloat16>()) GTEST_SKIP() << "needs AVX512_BF16";
  WithThreads([] {
    ExpectForward<bfloat16>(GetParam());
    ExpectDataGradient<bfloat16>(GetParam());
  });
}

// Rows are no multiple of a tile in most cases; the last ones are several blocks of rows.
INSTANTIATE_TEST_SUITE_P(
    All, PointwiseConvTest,
    ::testing::Values(PointwiseCase{"one_pixel", 1, 1, 1, 64, 128, 1, 1},
                      PointwiseCase{"two_rows", 1, 1, 2, 64, 64, 1, 1, true},
                      PointwiseCase{"three_rows", 3, 1, 1, 64, 64, 1, 1, false, true},
                      PointwiseCase{"four_rows", 1, 2, 2, 192, 64, 1, 1, false, false, true},
                      PointwiseCase{"five_rows", 1, 5, 1, 64, 64, 1, 1, true, true},
                      PointwiseCase{"small", 2, 7, 7, 128, 320, 1, 1, true, true, true},
                      PointwiseCase{"strided", 2, 7, 9, 128, 64, 2, 2},
                      PointwiseCase{"strided_epilogue", 2, 8, 8, 64, 64, 2, 2, true, true, true},
                      PointwiseCase{"strides", 1, 9, 10, 64, 64, 4, 3, false, true},
                      PointwiseCase{"rows", 5, 19, 23, 64, 64, 1, 1, true, true, true},
                      PointwiseCase{"strided_rows", 3, 37, 38, 64, 128, 2, 1}),
    [](const auto& info) { return info.param.name; });

// The sums of an odd number of products, in float.
TEST(PointwiseConv, TakesAnyDepthInFloat) {
  if (!HasTileInstructions<float>()) GTEST_SKIP() << "needs AVX-512";
  for (const int64_t depth : {1, 2, 3, 15, 16, 17, 40, 65}) {
    ExpectForward<float>({"", 1, 3, 5, depth, 64, 1, 1});
    ExpectDataGradient<float>({"", 1, 3, 5, 64, depth, 1, 1});
  }
  if (!HasTileInstructions<bfloat16>()) GTEST_SKIP() << "needs AVX512_BF16";
  for (const int64_t depth : {2, 14, 16, 18, 66}) {
    ExpectForward<bfloat16>({"", 1, 3, 5, depth, 64, 1, 1});
    ExpectDataGradient<bfloat16>({"", 1, 3, 5, 64, depth, 1, 1});
  }
}

// oneDNN 2 computes these wrongly.
TEST(PointwiseConv, GradientsOfOddFiltersAreRight) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  for (const PointwiseCase& c : {PointwiseCase{"", 1, 10, 3, 64, 23, 1, 1},
                                 {"", 4, 3, 10, 85, 41, 1, 1},
                                 {"", 2, 10, 6, 12, 57, 1, 1},
                                 {"", 2, 2, 10, 81, 20, 2, 2}}) {
    ConvProblem problem = PointwiseProblem<bfloat16>(c);
    const auto d_dst =
        ExactNumbers(problem.dst[0] * problem.dst[2] * problem.dst[3] * c.filters, 1);
    const auto filter = ExactNumbers(c.filters * c.channels, 2);
    std::vector<double> expected(c.images * c.height * c.width * c.channels);
    ForEachWindow(c, [&](int64_t pixel, int64_t from) {
      for (int64_t i = 0; i < c.channels; ++i) {
        for (int64_t m = 0; m < c.filters; ++m) {
          expected[pixel * c.channels + i] +=
              static_cast<double>(d_dst[from * c.filters + m]) * filter[m * c.channels + i];
        }
      }
    });
    for (const auto algorithm : {ConvAlgorithm::kAuto, ConvAlgorithm::kDirect}) {
      for (const bool narrow : {false, true}) {
        problem.algorithm = algorithm;
        problem.filter_type = narrow ? problem.type : TypeMeta::Make<float>();
        const auto narrow_filter = ConvertedTo<bfloat16>(filter);
        const void* given = narrow ? static_cast<const void*>(narrow_filter.data()) : filter.data();
        std::vector<bfloat16> d_src(expected.size());
        ConvBackwardData(problem).Run(ConvertedTo<bfloat16>(d_dst).data(), given, d_src.data());
        ExpectNear(d_src, expected);
      }
    }
  }
}

TEST(PointwiseConv, AddsStridedGradients) {
  if (!HasTileInstructions<float>() || HasAmx()) GTEST_SKIP() << "needs AVX-512 without AMX";
  PointwiseCase c{"", 2, 5, 7, 64, 10, 2, 2};
  c.add = true;
  const ConvProblem problem = PointwiseProblem<float>(c);
  ASSERT_TRUE(AddsDataGradient(problem));
  const std::vector<float> d_dst(c.images * 3 * 4 * c.filters, 1),
      filter(c.filters * c.channels, 1);
  std::vector<float> d_src(c.images * c.height * c.width * c.channels, 5);
  ConvBackwardData(problem).Run(d_dst.data(), filter.data(), d_src.data());
  for (int64_t pixel = 0; pixel < c.images * c.height * c.width; ++pixel) {
    const int64_t y = pixel / c.width % c.height, x = pixel % c.width;
    ASSERT_EQ(d_src[pixel * c.channels], y % 2 == 0 && x % 2 == 0 ? 15 : 5) << pixel;
  }
}

TEST(PointwiseConv, ReluKeepsNaN) {
  if (!HasTileInstructions<float>()) GTEST_SKIP() << "needs AVX-512";
  const ConvProblem problem =
      PointwiseProblem<float>({"", 1, 1, 1, 1, 64, 1, 1, false, false, true});
  const float src = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> filter(64, 1);
  std::vector<float> dst(64, 1);
  PointwiseConv(problem, ConvDirection::kForward).Run(&src, filter.data(), nullptr, dst.data());
  for (const float value : dst) EXPECT_TRUE(std::isnan(value));
}

TEST(PointwiseConv, KeepsAConstantFilterByItsAddress) {
  if (!HasTileInstructions<float>()) GTEST_SKIP() << "needs AVX-512";
  ConvProblem problem = PointwiseProblem<float>({"", 1, 1, 1, 1, 64, 1, 1});
  for (const bool constant : {false, true}) {
    problem.constant_filter = constant;
    PointwiseConv conv(problem, ConvDirection::kForward);
    const float src = 1;
    std::vector<float> filter(64, 2), other(64, 3), dst(64);
    conv.Run(&src, filter.data(), nullptr, dst.data());
    EXPECT_EQ(dst[63], 2);
    filter.assign(64, 4);
    conv.Run(&src, filter.data(), nullptr, dst.data());
    EXPECT_EQ(dst[63], constant ? 2 : 4);
    conv.Run(&src, other.data(), nullptr, dst.data());
    EXPECT_EQ(dst[63], 3);
  }
}

TEST(PointwiseConv, SupportsPlainPointwiseConvolutions) {
  constexpr auto kForward = ConvDirection::kForward, kData = ConvDirection::kBackwardData;
  const ConvProblem good = PointwiseProblem<float>({"", 2, 8, 8, 64, 64, 1, 1});
  EXPECT_EQ(PointwiseConv::Supports(good, kForward), HasTileInstructions<float>());
  EXPECT_EQ(PointwiseConv::Supports(good, kData), HasTileInstructions<float>());
  EXPECT_FALSE(PointwiseConv::Supports(good, ConvDirection::kBackwardFilter));
  EXPECT_EQ(PrefersPointwise(good, kData), HasTileInstructions<float>() && !HasAmx());
  const auto refuses = [&](auto change, ConvDirection direction = ConvDirection::kForward) {
    ConvProblem other = good;
    change(&other);
    return !PointwiseConv::Supports(other, direction);
  };
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->type = TypeMeta::Make<float16>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter_type = TypeMeta::Make<bfloat16>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->bias_type = TypeMeta::Make<bfloat16>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->bias_type = TypeMeta::Make<float>(); }, kData));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->channels_last = false; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->groups = 2; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->stride = {1}; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->pad_begin = {0, 1}; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->dst[3] = 9; }));  // padded at the end
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter[2] = 3; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter[0] = p->dst[1] = 96; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter[1] = p->src[1] = 96; }, kData));
  const ConvProblem odd = PointwiseProblem<bfloat16>({"", 2, 8, 8, 63, 64, 1, 1});
  EXPECT_FALSE(PointwiseConv::Supports(odd, kForward));
  EXPECT_THROW(PointwiseConv(odd, kForward), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::onednn
