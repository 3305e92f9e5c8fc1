#include "caffe2/utils/onednn_conv_matmul.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "caffe2/core/half.h"
#include "caffe2/core/random.h"
#include "caffe2/utils/narrow_float.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/thread_scratch.h"

namespace caffe2::onednn {
namespace {

struct MatMulCase {
  const char* name;
  int64_t images, size, channels, filters, kernel, stride, pad, dilation;
};

int64_t MatMulOutSize(const MatMulCase& c) {
  return (c.size + 2 * c.pad - c.dilation * (c.kernel - 1) - 1) / c.stride + 1;
}

// The problem for images of T.
template <typename T>
ConvProblem MatMulConv(const MatMulCase& c) {
  ConvProblem p;
  const int64_t out = MatMulOutSize(c);
  p.src = {c.images, c.channels, c.size, c.size};
  p.filter = {c.filters, c.channels, c.kernel, c.kernel};
  p.dst = {c.images, c.filters, out, out};
  p.stride = {c.stride, c.stride};
  p.dilation = {c.dilation, c.dilation};
  p.pad_begin = {c.pad, c.pad};
  p.channels_last = true;
  p.type = TypeMeta::Make<T>();
  p.filter_type = TypeMeta::Make<float>();
  return p;
}

// Numbers that bfloat16 holds exactly.
std::vector<float> MatMulNumbers(int64_t n, uint64_t seed) {
  RandomGenerator random(seed);
  std::vector<float> numbers(n);
  for (float& x : numbers) x = ToFloat(ToBFloat16(random.Uniform() - 0.5f));
  return numbers;
}

template <typename T>
std::vector<T> MatMulInput(const std::vector<float>& numbers) {
  std::vector<T> result(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) Store(numbers[i], &result[i]);
  return result;
}

// body(index in src, in filter, in dst) for each product of the convolution.
template <class Body>
void ForEachProduct(const MatMulCase& c, const Body& body) {
  const int64_t out = MatMulOutSize(c), k = c.kernel;
  for (int64_t n = 0; n < c.images; ++n) {
    for (int64_t place = 0; place < out * out; ++place) {
      for (int64_t tap = 0; tap < k * k; ++tap) {
        const int64_t y = place / out * c.stride - c.pad + tap / k * c.dilation;
        const int64_t x = place % out * c.stride - c.pad + tap % k * c.dilation;
        if (y < 0 || y >= c.size || x < 0 || x >= c.size) continue;
        const int64_t pixel = (n * c.size + y) * c.size + x;
        for (int64_t m = 0; m < c.filters; ++m) {
          for (int64_t i = 0; i < c.channels; ++i) {
            body(pixel * c.channels + i, (m * k * k + tap) * c.channels + i,
                 (n * out * out + place) * c.filters + m);
          }
        }
      }
    }
  }
}

// `tolerance`: of a gradient of src, relative.
template <typename T>
void ExpectSumsOfProducts(const MatMulCase& c, double tolerance) {
  const int64_t out = MatMulOutSize(c);
  const auto src = MatMulNumbers(c.images * c.size * c.size * c.channels, 1);
  const auto filter = MatMulNumbers(c.filters * c.kernel * c.kernel * c.channels, 2);
  const auto d_dst = MatMulNumbers(c.images * out * out * c.filters, 3);
  std::vector<double> d_filter(filter.size()), d_src(src.size());
  ForEachProduct(c, [&](int64_t s, int64_t f, int64_t d) {
    d_filter[f] += static_cast<double>(src[s]) * d_dst[d];
    d_src[s] += static_cast<double>(filter[f]) * d_dst[d];
  });

  std::vector<float> filter_result(filter.size(), 1e9f);  // what is there before does not matter
  PatchFilterGradient(MatMulConv<T>(c))
      .Run(MatMulInput<T>(src).data(), MatMulInput<T>(d_dst).data(), filter_result.data());
  for (size_t i = 0; i < filter.size(); ++i) {
    ASSERT_NEAR(filter_result[i], d_filter[i], 1e-5 * c.images * out * out) << i;
  }
  auto src_result = MatMulInput<T>(std::vector<float>(src.size(), 1e9f));
  PatchDataGradient(MatMulConv<T>(c))
      .Run(MatMulInput<T>(d_dst).data(), filter.data(), src_result.data());
  for (size_t i = 0; i < src.size(); ++i) {
    ASSERT_NEAR(Widen(src_result[i]), d_src[i], std::abs(d_src[i]) * tolerance + 1e-4) << i;
  }
}

class PatchGradientTest : public ::testing::TestWithParam<MatMulCase> {};

TEST_P(PatchGradientTest, EqualsTheSumOfProductsInFloat) {
  ExpectSumsOfProducts<float>(GetParam(), 1e-5);
}
TEST_P(PatchGradientTest, EqualsTheSumOfProductsInBFloat16) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  ExpectSumsOfProducts<bfloat16>(GetParam(), 1. / 256);
}

// The three large ones are computed in several steps or parts, the last of fewer patches.
INSTANTIATE_TEST_SUITE_P(All, PatchGradientTest,
                         ::testing::Values(MatMulCase{"pointwise", 3, 5, 32, 40, 1, 1, 0, 1},
                                           MatMulCase{"pointwise_strided", 2, 7, 33, 8, 1, 2, 0, 1},
                                           MatMulCase{"padded", 2, 6, 16, 24, 3, 1, 1, 1},
                                           MatMulCase{"strided", 2, 9, 16, 8, 3, 2, 1, 1},
                                           MatMulCase{"dilated", 2, 9, 8, 16, 3, 1, 2, 2},
                                           MatMulCase{"channels", 1, 4, 300, 32, 2, 2, 0, 1},
                                           MatMulCase{"filters", 3, 7, 40, 300, 1, 1, 0, 1},
                                           MatMulCase{"one_pixel", 1, 1, 8, 8, 3, 1, 1, 1},
                                           MatMulCase{"parts", 3, 41, 40, 33, 1, 1, 0, 1},
                                           MatMulCase{"steps", 7, 48, 64, 2, 3, 1, 1, 1},
                                           MatMulCase{"strided_steps", 9, 64, 96, 2, 3, 2, 1, 1}),
                         [](const auto& info) { return info.param.name; });

// `tolerance`: relative.
template <typename T>
void ExpectAdded(double tolerance) {
  const MatMulCase c{"", 2, 5, 24, 40, 1, 1, 0, 1};
  ConvProblem problem = MatMulConv<T>(c);
  problem.add_to_dst = true;
  ASSERT_TRUE(AddsDataGradient(problem));
  const auto before = MatMulNumbers(c.images * c.size * c.size * c.channels, 1);
  const auto filter = MatMulNumbers(c.filters * c.channels, 2);
  const auto d_dst = MatMulNumbers(c.images * c.size * c.size * c.filters, 3);
  std::vector<double> expected(before.begin(), before.end());
  ForEachProduct(c, [&](int64_t s, int64_t f, int64_t d) {
    expected[s] += static_cast<double>(filter[f]) * d_dst[d];
  });
  auto d_src = MatMulInput<T>(before);
  ConvBackwardData(problem).Run(MatMulInput<T>(d_dst).data(), filter.data(), d_src.data());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(Widen(d_src[i]), expected[i], std::abs(expected[i]) * tolerance + 1e-6) << i;
  }
}

TEST(PatchGradient, AddsToTheGradientOfPointwiseConvolutions) {
  ExpectAdded<float>(1e-5);
  if (MultipliesBFloat16()) ExpectAdded<bfloat16>(1. / 256);
  for (const MatMulCase& c :
       {MatMulCase{"", 2, 5, 24, 40, 3, 1, 1, 1}, MatMulCase{"", 2, 5, 24, 40, 1, 2, 0, 1}}) {
    ConvProblem problem = MatMulConv<float>(c);
    problem.add_to_dst = true;
    EXPECT_FALSE(AddsDataGradient(problem));
    EXPECT_THROW(ConvBackwardData{problem}, EnforceNotMet);
    EXPECT_THROW(PatchDataGradient{problem}, EnforceNotMet);
  }
}

// oneDNN 2 computes these wrongly in bfloat16. With a bias there are no patches.
TEST(PatchGradient, OfResultsOnePixelWideIsRight) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "oneDNN does not multiply bfloat16 here";
  for (const MatMulCase& c : {MatMulCase{"", 3, 2, 60, 27, 3, 3, 1, 1},
                              {"", 4, 1, 14, 50, 2, 3, 1, 1},
                              {"", 4, 1, 20, 66, 5, 3, 2, 1}}) {
    ConvProblem problem = MatMulConv<bfloat16>(c);
    ASSERT_EQ(problem.dst[3], 1);
    const auto src = MatMulNumbers(c.images * c.size * c.size * c.channels, 1);
    const auto d_dst = MatMulNumbers(c.images * c.filters, 3);
    std::vector<double> expected(c.filters * c.kernel * c.kernel * c.channels);
    ForEachProduct(c, [&](int64_t s, int64_t f, int64_t d) {
      expected[f] += static_cast<double>(src[s]) * d_dst[d];
    });
    for (const auto algorithm : {ConvAlgorithm::kAuto, ConvAlgorithm::kDirect}) {
      for (const bool bias : {false, true}) {
        problem.algorithm = algorithm;
        problem.bias_type = bias ? problem.filter_type : TypeMeta();
        std::vector<float> d_filter(expected.size(), 1e9f), d_bias(c.filters);
        constexpr size_t kBytes = size_t{1} << 24;
        std::memset(ThreadScratch(kBytes), 0x42, kBytes);  // what is there before does not matter
        ConvBackwardFilter(problem).Run(MatMulInput<bfloat16>(src).data(),
                                        MatMulInput<bfloat16>(d_dst).data(), d_filter.data(),
                                        d_bias.data());
        for (size_t i = 0; i < expected.size(); ++i) {
          ASSERT_NEAR(d_filter[i], expected[i], 1e-4) << i << " " << bias;
        }
      }
    }
  }
}

TEST(PatchGradient, IsForGradientsWithoutBias) {
  const ConvProblem good = MatMulConv<float>({"", 2, 8, 64, 64, 1, 2, 0, 1});
  EXPECT_TRUE(PatchesSupport(good));
  EXPECT_EQ(PatchesSupport(MatMulConv<bfloat16>({"", 2, 8, 64, 64, 1, 2, 0, 1})),
            MultipliesBFloat16());
  EXPECT_FALSE(PrefersPatches(good, ConvDirection::kForward));
  const auto refuses = [&](auto change) {
    ConvProblem other = good;
    change(&other);
    return !PatchesSupport(other) && !PrefersPatches(other, ConvDirection::kBackwardFilter);
  };
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->type = TypeMeta::Make<float16>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->filter_type = TypeMeta::Make<bfloat16>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->bias_type = TypeMeta::Make<float>(); }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->channels_last = false; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->groups = 2; }));
  EXPECT_TRUE(refuses([](ConvProblem* p) { p->stride = {1}; }));
  ConvProblem wrong = good;
  wrong.groups = 2;
  EXPECT_THROW(PatchFilterGradient{wrong}, EnforceNotMet);
}

// In float oneDNN's own kernels are slower than patches without AVX-512, with strides; with it, but
// not AMX, gradients of filters are slower than products of tiles.
TEST(PatchGradient, IsPreferredInFloat) {
  const bool tiles = HasAvx512() && !HasAmx();
  const bool slow = !HasAvx512();
  constexpr auto kFilter = ConvDirection::kBackwardFilter, kData = ConvDirection::kBackwardData;
  const auto prefers = [](const MatMulCase& c, ConvDirection direction) {
    return PrefersPatches(MatMulConv<float>(c), direction);
  };
  const MatMulCase strided{"", 16, 55, 256, 512, 1, 2, 0, 1};
  EXPECT_EQ(prefers(strided, kFilter), slow || tiles);
  EXPECT_EQ(prefers(strided, kData), slow);
  EXPECT_EQ(prefers({"", 16, 7, 512, 2048, 1, 1, 0, 1}, kData), slow);  // a small image
  EXPECT_EQ(prefers({"", 16, 7, 512, 512, 3, 1, 1, 1}, kFilter), slow);
  EXPECT_EQ(prefers({"", 16, 28, 256, 256, 3, 2, 1, 1}, kFilter), slow || tiles);
  EXPECT_EQ(prefers({"", 16, 28, 256, 256, 5, 2, 2, 1}, kFilter), slow || tiles);
  for (const auto& [channels, filters] :
       std::vector<std::pair<int64_t, int64_t>>{{128, 512}, {64, 64}, {128, 500}, {144, 40}}) {
    EXPECT_EQ(prefers({"", 16, 28, channels, filters, 1, 1, 0, 1}, kFilter), tiles) << channels;
  }
  EXPECT_FALSE(prefers({"", 16, 28, 32, 96, 1, 1, 0, 1}, kFilter));    // few tiles
  EXPECT_FALSE(prefers({"", 16, 28, 100, 100, 1, 1, 0, 1}, kFilter));  // a panel is not full
  EXPECT_FALSE(prefers({"", 1, 28, 64, 64, 1, 1, 0, 1}, kFilter));     // few pixels
  EXPECT_FALSE(prefers({"", 128, 7, 512, 512, 3, 1, 1, 1}, kFilter));  // Winograd
  EXPECT_FALSE(prefers({"", 16, 224, 3, 64, 7, 2, 3, 1}, kFilter));    // few channels
}

TEST(PatchGradient, IsPreferredInBFloat16WithPairs) {
  if (HasAmx()) GTEST_SKIP() << "other rules";
  const bool pairs = HasPairInstruction();
  constexpr auto kFilter = ConvDirection::kBackwardFilter, kData = ConvDirection::kBackwardData;
  const auto prefers = [](const MatMulCase& c, ConvDirection direction) {
    return PrefersPatches(MatMulConv<bfloat16>(c), direction);
  };
  EXPECT_EQ(prefers({"", 16, 55, 128, 128, 3, 2, 1, 1}, kFilter), pairs);
  EXPECT_EQ(prefers({"", 16, 56, 64, 128, 5, 2, 2, 1}, kFilter), pairs);
  EXPECT_EQ(prefers({"", 16, 28, 128, 512, 1, 1, 0, 1}, kFilter), pairs);
  EXPECT_EQ(prefers({"", 16, 14, 256, 1024, 1, 1, 0, 1}, kFilter), pairs);
  EXPECT_EQ(prefers({"", 16, 7, 512, 2048, 1, 1, 0, 1}, kFilter), pairs);
  EXPECT_FALSE(prefers({"", 16, 28, 40, 240, 1, 1, 0, 1}, kFilter));     // a panel is not full
  EXPECT_FALSE(prefers({"", 16, 14, 512, 512, 3, 1, 1, 1}, kFilter));    // Winograd
  EXPECT_EQ(prefers({"", 16, 7, 512, 2048, 1, 1, 0, 1}, kData), pairs);  // a small image
  EXPECT_FALSE(prefers({"", 16, 28, 128, 512, 1, 1, 0, 1}, kData));
  EXPECT_FALSE(prefers({"", 16, 55, 128, 128, 3, 2, 1, 1}, kData));
}

}  // namespace
}  // namespace caffe2::onednn
