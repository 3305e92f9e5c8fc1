#include "caffe2/utils/row_conv.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <cmath>
#include <limits>

#include "caffe2/core/half.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/random.h"

namespace caffe2::onednn {
namespace {

constexpr auto kForward = ConvDirection::kForward;
constexpr auto kData = ConvDirection::kBackwardData;
constexpr auto kFilter = ConvDirection::kBackwardFilter;

struct RowCase {
  const char* name;
  int64_t images, height, width, channels, filters, kernel_height, kernel_width;
  int64_t stride = 1, dilation = 1;  // the dilation is vertical

  int64_t out_height() const { return (height - dilation * (kernel_height - 1) - 1) / stride + 1; }
  int64_t out_width() const { return (width - kernel_width) / stride + 1; }
};

ConvProblem ProblemOf(const RowCase& c) {
  ConvProblem p;
  p.src = {c.images, c.channels, c.height, c.width};
  p.filter = {c.filters, c.channels, c.kernel_height, c.kernel_width};
  p.dst = {c.images, c.filters, c.out_height(), c.out_width()};
  p.stride = {c.stride, c.stride};
  p.dilation = {c.dilation, 1};
  p.pad_begin = {0, 0};
  p.channels_last = true;
  p.type = p.filter_type = p.bias_type = TypeMeta::Make<float>();
  return p;
}

std::vector<float> RandomFloats(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = random.Uniform() - 0.5f;
  return numbers;
}

// Arrays of a case, and what a plain loop makes of them. `*_scale`: the sums of absolute products.
struct Arrays {
  explicit Arrays(const RowCase& c)
      : src(RandomFloats(c.images * c.height * c.width * c.channels, 1)),
        filter(RandomFloats(c.filters * c.kernel_height * c.kernel_width * c.channels, 2)),
        bias(RandomFloats(c.filters, 3)),
        d_dst(RandomFloats(c.images * c.out_height() * c.out_width() * c.filters, 4)),
        dst(d_dst.size()),
        d_src(src.size()),
        d_filter(filter.size()),
        d_bias(bias.size()) {
    const int64_t pixels = c.out_height() * c.out_width(), row = c.kernel_width * c.channels;
    for (size_t i = 0; i < d_dst.size(); ++i) {
      const int64_t m = i % c.filters, pixel = i / c.filters % pixels, n = i / c.filters / pixels;
      const int64_t y = pixel / c.out_width() * c.stride, x = pixel % c.out_width() * c.stride;
      dst[i] = bias[m];
      d_bias[m] += d_dst[i];
      for (int64_t k = 0; k < c.kernel_height * row; ++k) {
        const int64_t s =
            ((n * c.height + y + k / row * c.dilation) * c.width + x) * c.channels + k % row;
        const int64_t f = m * c.kernel_height * row + k;
        dst[i] += static_cast<double>(src[s]) * filter[f];
        d_src[s] += static_cast<double>(d_dst[i]) * filter[f];
        d_filter[f] += static_cast<double>(d_dst[i]) * src[s];
      }
    }
  }

  std::vector<float> src, filter, bias, d_dst;
  std::vector<double> dst, d_src, d_filter, d_bias;
};

// All products are below 1/4: of n random ones, the rounding errors are far below this.
void ExpectSums(const std::vector<float>& result, const std::vector<double>& expected, int64_t n) {
  ASSERT_EQ(result.size(), expected.size());
  for (size_t i = 0; i < result.size(); ++i) {
    ASSERT_NEAR(result[i], expected[i], 2e-7 * (8 + std::sqrt(static_cast<double>(n)))) << i;
  }
}

struct Results {
  explicit Results(const Arrays& a)
      : dst(a.dst.size(), 1e9f),  // what is there before does not matter
        d_src(a.d_src.size(), 1e9f),
        d_filter(a.d_filter.size(), 1e9f),
        d_bias(a.d_bias.size(), 1e9f) {}

  void Run(const ConvProblem& p, const Arrays& a) {
    if (RowConv::Supports(p, kForward)) {
      RowConv(p, kForward).Forward(a.src.data(), a.filter.data(), a.bias.data(), dst.data());
    }
    if (RowConv::Supports(p, kData)) {
      RowConv(p, kData).BackwardData(a.d_dst.data(), a.filter.data(), d_src.data());
    }
    if (RowConv::Supports(p, kFilter)) {
      RowConv(p, kFilter)
          .BackwardFilter(a.src.data(), a.d_dst.data(), d_filter.data(), d_bias.data());
    }
  }

  std::vector<float> dst, d_src, d_filter, d_bias;
};

class RowConvTest : public ::testing::TestWithParam<RowCase> {};

TEST_P(RowConvTest, EqualsPlainLoops) {
  const RowCase& c = GetParam();
  const ConvProblem p = ProblemOf(c);
  const Arrays arrays(c);
  Results results(arrays);
  results.Run(p, arrays);
  const int64_t row = c.kernel_width * c.channels, taps = c.kernel_height * row;
  EXPECT_TRUE(RowConv::Supports(p, kForward) || RowConv::Supports(p, kData));
  if (RowConv::Supports(p, kForward)) ExpectSums(results.dst, arrays.dst, taps);
  if (RowConv::Supports(p, kData)) ExpectSums(results.d_src, arrays.d_src, taps * c.filters);
  if (RowConv::Supports(p, kFilter)) {
    const int64_t pixels = c.images * c.out_height() * c.out_width();
    ExpectSums(results.d_filter, arrays.d_filter, pixels);
    ExpectSums(results.d_bias, arrays.d_bias, pixels);
  }
}

TEST_P(RowConvTest, DoesNotDependOnTheNumberOfThreads) {
  const ConvProblem p = ProblemOf(GetParam());
  const Arrays arrays(GetParam());
  const int threads = omp_get_max_threads();
  Results one(arrays), three(arrays);
  omp_set_num_threads(1);
  one.Run(p, arrays);
  omp_set_num_threads(3);
  three.Run(p, arrays);
  omp_set_num_threads(threads);
  EXPECT_EQ(one.dst, three.dst);
  EXPECT_EQ(one.d_src, three.d_src);
  EXPECT_EQ(one.d_filter, three.d_filter);
  EXPECT_EQ(one.d_bias, three.d_bias);
}

TEST_P(RowConvTest, WorksWithoutBias) {
  ConvProblem p = ProblemOf(GetParam());
  p.bias_type = TypeMeta();
  const Arrays arrays(GetParam());
  Results results(arrays), with_bias(arrays);
  if (!RowConv::Supports(p, kForward)) return;  // only the gradient of the images
  RowConv(p, kForward)
      .Forward(arrays.src.data(), arrays.filter.data(), nullptr, results.dst.data());
  with_bias.Run(ProblemOf(GetParam()), arrays);
  for (size_t i = 0; i < results.dst.size(); ++i) {
    ASSERT_NEAR(results.dst[i] + arrays.bias[i % arrays.bias.size()], with_bias.dst[i], 1e-5);
  }
  RowConv(p, kFilter)
      .BackwardFilter(arrays.src.data(), arrays.d_dst.data(), results.d_filter.data(), nullptr);
  EXPECT_EQ(results.d_filter, with_bias.d_filter);
}

// The sizes meet all widths of tiles, with and without a rest, and groups of images.
INSTANTIATE_TEST_SUITE_P(All, RowConvTest,
                         ::testing::Values(RowCase{"lenet_first", 5, 28, 28, 1, 20, 5, 5},
                                           RowCase{"lenet_second", 3, 12, 12, 20, 50, 5, 5},
                                           RowCase{"one_image", 1, 7, 9, 3, 33, 3, 5},
                                           RowCase{"one_pixel", 2, 3, 3, 3, 9, 3, 3},
                                           RowCase{"nine_images", 9, 6, 11, 4, 16, 2, 3},
                                           RowCase{"strided", 4, 11, 13, 5, 24, 3, 4, 2},
                                           RowCase{"strided_tail", 2, 12, 12, 5, 25, 3, 3, 2},
                                           RowCase{"dilated", 3, 13, 8, 8, 47, 3, 3, 1, 2},
                                           RowCase{"strided_dilated", 2, 17, 10, 3, 56, 4, 3, 3, 3},
                                           RowCase{"long_row", 2, 6, 6, 50, 20, 3, 3},
                                           RowCase{"pointwise", 2, 5, 4, 19, 41, 1, 1},
                                           RowCase{"many_filters", 2, 6, 7, 10, 70, 3, 5}),
                         [](const auto& info) { return info.param.name; });

TEST(RowConv, KeepsNumbersThatAreNotFiniteApart) {
  const RowCase c{"", 3, 8, 8, 20, 50, 5, 5};
  Arrays arrays(c);
  const int64_t d_size = arrays.d_dst.size() / c.images;
  arrays.src[arrays.src.size() / 3 + 5] = std::numeric_limits<float>::infinity();
  arrays.d_dst[d_size + 1] = std::numeric_limits<float>::quiet_NaN();
  Results results(arrays);
  results.Run(ProblemOf(c), arrays);
  const auto of_second = [](const std::vector<float>& values, size_t i) {
    return i * 3 / values.size() == 1;
  };
  for (size_t i = 0; i < results.dst.size(); ++i) {
    ASSERT_TRUE(of_second(results.dst, i) || std::isfinite(results.dst[i])) << i;
  }
  for (size_t i = 0; i < results.d_src.size(); ++i) {
    ASSERT_TRUE(of_second(results.d_src, i) || std::isfinite(results.d_src[i])) << i;
  }
  for (size_t m = 0; m < results.d_bias.size(); ++m) {
    EXPECT_EQ(std::isnan(results.d_bias[m]), m == 1) << m;
  }
}

TEST(RowConv, RefusesOtherProblems) {
  const ConvProblem good = ProblemOf({"", 32, 12, 12, 20, 50, 5, 5});
  for (const auto direction : {kForward, kData, kFilter}) {
    EXPECT_TRUE(RowConv::Supports(good, direction));
    const auto refuses = [&](auto change) {
      ConvProblem other = good;
      change(&other);
      return !RowConv::Supports(other, direction) && !PrefersRows(other, direction);
    };
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->type = TypeMeta::Make<bfloat16>(); }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter_type = TypeMeta::Make<bfloat16>(); }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->bias_type = TypeMeta::Make<bfloat16>(); }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->channels_last = false; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->groups = 2; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->stride = {1}; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->pad_begin = {1, 0}; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->dst = {32, 50, 9, 8}; }));  // padding at the end
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->dilation = {1, 2}; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->relu = true; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->add_to_dst = true; }));
    EXPECT_TRUE(refuses([](ConvProblem* p) { p->src[0] = p->dst[0] = 0; }));
  }
  EXPECT_FALSE(RowConv::Supports(ProblemOf({"", 32, 12, 12, 20, 57, 5, 5}), kForward));
  EXPECT_FALSE(RowConv::Supports(ProblemOf({"", 32, 12, 12, 20, 8, 5, 5}), kFilter));
  EXPECT_FALSE(RowConv::Supports(ProblemOf({"", 32, 12, 12, 1, 50, 5, 5}), kData));
  EXPECT_THROW(RowConv(ProblemOf({"", 32, 12, 12, 1, 50, 5, 5}), kData), EnforceNotMet);
}

#if defined(__x86_64__)
TEST(RowConv, IsPreferredWhereVectorsOfChannelsAreNotFull) {
  const auto prefers = [](const RowCase& c, ConvDirection direction) {
    return PrefersRows(ProblemOf(c), direction);
  };
  const RowCase first{"", 64, 28, 28, 1, 20, 5, 5}, second{"", 64, 12, 12, 20, 50, 5, 5};
  // Depends on the processor.
  const bool here = prefers(first, kForward);
  EXPECT_TRUE(!here || __builtin_cpu_supports("avx512bw"));
  EXPECT_EQ(prefers(first, kFilter), here);
  EXPECT_EQ(prefers(second, kForward), here);
  EXPECT_EQ(prefers(second, kData), here);
  EXPECT_EQ(prefers(second, kFilter), here);
  EXPECT_EQ(prefers({"", 64, 28, 28, 1, 32, 5, 5}, kFilter), here);
  for (const auto direction : {kForward, kData, kFilter}) {
    EXPECT_FALSE(prefers({"", 64, 14, 14, 16, 32, 5, 5}, direction));
    EXPECT_FALSE(prefers({"", 8, 12, 12, 20, 50, 5, 5}, direction));   // few images
    EXPECT_FALSE(prefers({"", 64, 12, 12, 65, 50, 5, 5}, direction));  // many channels
    EXPECT_FALSE(prefers({"", 64, 12, 12, 20, 50, 1, 1}, direction));  // products of matrices
    ConvProblem direct = ProblemOf(second);
    direct.algorithm = ConvAlgorithm::kDirect;
    EXPECT_FALSE(PrefersRows(direct, direction));
  }
}
#endif

}  // namespace
}  // namespace caffe2::onednn
