// Our own Winograd convolutions, held against sums in double over the same rounded numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_processor.h"
#include "caffe2/utils/onednn_winograd.h"
#include "tests/core/scoped_variable.h"

namespace caffe2::onednn {
namespace {

struct Case {
  std::string name;
  int64_t batch, channels, filters, height, width, pad_top, pad_left;
  int64_t out_height, out_width;
};

// Odd edges, every padding, one pixel, enough tiles for several chunks of which the last is short,
// more channels than are handled at a time, and numbers of channels for panels of float, with few
// tiles, with few filters and with several segments of tiles.
std::vector<Case> Cases() {
  return {{"odd", 3, 32, 48, 9, 7, 1, 1, 9, 7},
          {"no_padding", 2, 16, 8, 6, 11, 0, 0, 4, 9},
          {"wide_padding", 1, 24, 16, 5, 4, 2, 2, 7, 6},
          {"uneven", 2, 5, 3, 6, 6, 2, 0, 6, 5},
          {"pixel", 1, 3, 2, 1, 1, 1, 1, 1, 1},
          {"chunks", 7, 64, 33, 37, 21, 1, 1, 37, 21},
          {"channels", 2, 70, 101, 9, 8, 1, 1, 9, 8},
          {"panels", 1, 64, 96, 5, 6, 1, 1, 5, 6},
          {"few_filters", 2, 96, 32, 13, 9, 1, 2, 13, 9},
          {"segments", 3, 32, 64, 37, 41, 2, 0, 37, 40}};
}

double Value(float value) { return value; }
double Value(bfloat16 value) { return ToFloat(value); }

template <typename Pixel>
class WinogradFixture : public ::testing::TestWithParam<Case> {
 protected:
  WinogradFixture() {
    problem_.src = {c_.batch, c_.channels, c_.height, c_.width};
    problem_.dst = {c_.batch, c_.filters, c_.out_height, c_.out_width};
    problem_.filter = {c_.filters, c_.channels, 3, 3};
    problem_.stride = problem_.dilation = {1, 1};
    problem_.pad_begin = {c_.pad_top, c_.pad_left};
    problem_.channels_last = true;
    problem_.type = TypeMeta::Make<Pixel>();
    problem_.filter_type = problem_.bias_type = TypeMeta::Make<float>();
    problem_.algorithm = ConvAlgorithm::kWinograd;
  }

  static std::vector<Pixel> Random(int64_t n, int seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<Pixel> result(n);
    for (Pixel& value : result) {
      if constexpr (std::is_same_v<Pixel, float>) {
        value = values(engine);
      } else {
        value = ToBFloat16(values(engine));
      }
    }
    return result;
  }

  // f(result position, channel, input position, channel, filter position) for every product.
  template <typename F>
  void ForProducts(const F& f) const {
    for (int64_t n = 0; n < c_.batch; ++n) {
      for (int64_t y = 0; y < c_.out_height; ++y) {
        for (int64_t x = 0; x < c_.out_width; ++x) {
          for (int64_t k = 0; k < 9; ++k) {
            const int64_t in_y = y + k / 3 - c_.pad_top, in_x = x + k % 3 - c_.pad_left;
            if (in_y < 0 || in_y >= c_.height || in_x < 0 || in_x >= c_.width) continue;
            const int64_t out = (n * c_.out_height + y) * c_.out_width + x;
            const int64_t in = (n * c_.height + in_y) * c_.width + in_x;
            for (int64_t m = 0; m < c_.filters; ++m) {
              for (int64_t c = 0; c < c_.channels; ++c) {
                f(out * c_.filters + m, in * c_.channels + c, (m * 9 + k) * c_.channels + c);
              }
            }
          }
        }
      }
    }
  }

  // The convolution and its gradients in double.
  std::vector<double> ExpectedForward() const {
    std::vector<double> conv(out_size_, 0.75);
    ForProducts([&](int64_t out, int64_t in, int64_t k) {
      conv[out] += Value(x_[in]) * Value(filter_[k]);
    });
    return conv;
  }
  std::vector<double> ExpectedBackwardData() const {
    std::vector<double> dx(in_size_);
    ForProducts(
        [&](int64_t out, int64_t in, int64_t k) { dx[in] += Value(z_[out]) * Value(filter_[k]); });
    return dx;
  }
  std::vector<double> ExpectedBackwardFilter() const {
    std::vector<double> dw(filter_size_);
    ForProducts(
        [&](int64_t out, int64_t in, int64_t k) { dw[k] += Value(z_[out]) * Value(x_[in]); });
    return dw;
  }
  std::vector<double> ExpectedBias() const {
    std::vector<double> db(c_.filters);
    for (int64_t i = 0; i < out_size_; ++i) db[i % c_.filters] += Value(z_[i]);
    return db;
  }
  // max(0, convolution + z).
  std::vector<double> ExpectedSumRelu() const {
    std::vector<double> sum = ExpectedForward();
    for (int64_t i = 0; i < out_size_; ++i) sum[i] = std::max(0.0, sum[i] + Value(z_[i]));
    return sum;
  }

  // Rounding of inputs, tiles and filters is random: it grows with the root of the number of
  // products in a sum. In bfloat16 each is rounded by at most one part in 256; in float, the tiles'
  // factors make a few bits of the roundings by one part in 2^24, which are more where the compiler
  // does not fuse products with sums.
  template <typename T>
  static void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected,
                         double products) {
    constexpr bool kFloat = std::is_same_v<Pixel, float>;
    const double tolerance = (kFloat ? 1.5e-5 : 0.02) * std::sqrt(products);
    const double relative = kFloat ? 1e-5 : 0.005;
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(Value(actual[i]), expected[i], tolerance + relative * std::abs(expected[i]))
          << "at " << i;
    }
  }

  const Case c_ = GetParam();
  ConvProblem problem_;
  const int64_t in_size_ = c_.batch * c_.height * c_.width * c_.channels;
  const int64_t out_size_ = c_.batch * c_.out_height * c_.out_width * c_.filters;
  const int64_t filter_size_ = c_.filters * 9 * c_.channels;
  const std::vector<Pixel> x_ = Random(in_size_, 1);
  const std::vector<Pixel> filter_ = Random(filter_size_, 2);
  const std::vector<Pixel> z_ = Random(out_size_, 3);
  const std::vector<float> wide_filter_ = [this] {
    std::vector<float> wide;
    for (Pixel value : filter_) wide.push_back(static_cast<float>(Value(value)));
    return wide;
  }();
  const std::vector<float> bias_ = std::vector<float>(c_.filters, 0.75f);
};

class WinogradTest : public WinogradFixture<bfloat16> {
 protected:
  void SetUp() override {
    if (!MultipliesBFloat16()) GTEST_SKIP() << "no products of bfloat16 on this processor";
  }
};

TEST_P(WinogradTest, Forward) {
  const double products = 9.0 * c_.channels;
  std::vector<bfloat16> y(out_size_);
  ConvForward(problem_).Run(x_.data(), wide_filter_.data(), bias_.data(), y.data());
  ExpectNear(y, ExpectedForward(), products);

  ConvProblem narrow = problem_;
  narrow.filter_type = narrow.type;
  ConvForward narrow_conv(narrow);
  std::vector<bfloat16> again(out_size_);
  narrow_conv.Run(x_.data(), filter_.data(), bias_.data(), again.data());
  EXPECT_EQ(again, y) << "the filter was exact in both types";

  ConvProblem fused = problem_;
  fused.add_to_dst = fused.relu = true;
  std::vector<bfloat16> sum = z_;
  ConvForward(fused).Run(x_.data(), wide_filter_.data(), bias_.data(), sum.data());
  ExpectNear(sum, ExpectedSumRelu(), products);
}

TEST_P(WinogradTest, ConstantFilterIsKept) {
  ConvProblem constant = problem_;
  constant.constant_filter = true;
  ConvForward conv(constant);
  std::vector<float> filter = wide_filter_;
  std::vector<bfloat16> first(out_size_), second(out_size_), fresh(out_size_);
  conv.Run(x_.data(), filter.data(), bias_.data(), first.data());
  filter.assign(filter.size(), 0.f);
  conv.Run(x_.data(), filter.data(), bias_.data(), second.data());
  EXPECT_EQ(second, first) << "the promise was that it does not change";
  ConvForward(problem_).Run(x_.data(), wide_filter_.data(), bias_.data(), fresh.data());
  EXPECT_EQ(fresh, first);
}

TEST_P(WinogradTest, BackwardData) {
  std::vector<bfloat16> dx(in_size_);
  ConvBackwardData(problem_).Run(z_.data(), wide_filter_.data(), dx.data());
  ExpectNear(dx, ExpectedBackwardData(), 9.0 * c_.filters);
}

TEST_P(WinogradTest, BackwardFilter) {
  const std::vector<double> expected = ExpectedBackwardFilter(), d_bias = ExpectedBias();
  const double products = static_cast<double>(out_size_) / static_cast<double>(c_.filters);
  std::vector<float> dw(filter_size_), db(c_.filters);
  ConvBackwardFilter gradient(problem_);
  for (int run = 0; run < 2; ++run) {  // sums begin anew
    gradient.Run(x_.data(), z_.data(), dw.data(), db.data());
    ExpectNear(dw, expected, products);
    ExpectNear(db, d_bias, products);
  }
  ConvProblem narrow = problem_;
  narrow.filter_type = narrow.bias_type = narrow.type;
  std::vector<bfloat16> narrow_dw(filter_size_), narrow_db(c_.filters);
  ConvBackwardFilter(narrow).Run(x_.data(), z_.data(), narrow_dw.data(), narrow_db.data());
  ExpectNear(narrow_dw, expected, products);
  ExpectNear(narrow_db, d_bias, products);
}

TEST_P(WinogradTest, NaNStaysInItsTilesAndImage) {
  std::vector<bfloat16> x = x_;
  x[0] = ToBFloat16(std::numeric_limits<float>::quiet_NaN());
  std::vector<bfloat16> y(out_size_), clean(out_size_);
  ConvProblem relu = problem_;
  relu.relu = true;
  ConvForward conv(relu);
  conv.Run(x_.data(), wide_filter_.data(), bias_.data(), clean.data());
  conv.Run(x.data(), wide_filter_.data(), bias_.data(), y.data());
  if (c_.pad_top > 0 && c_.pad_left > 0) {
    EXPECT_TRUE(std::isnan(ToFloat(y[0])));
  }
  const int64_t image = out_size_ / c_.batch;
  for (int64_t i = image; i < out_size_; ++i) ASSERT_EQ(y[i], clean[i]);
}

INSTANTIATE_TEST_SUITE_P(All, WinogradTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

// The classes themselves: ConvForward and the others take oneDNN's Winograd where it has one.
class FloatWinogradTest : public WinogradFixture<float> {
 protected:
  // The problem in both storage orders.
  std::vector<ConvProblem> Orders() const {
    std::vector<ConvProblem> orders = {problem_, problem_};
    orders[1].channels_last = false;
    return orders;
  }
  // `values` are n blocks of pixels by channels. Returns them in the order of the problem.
  static std::vector<float> Ordered(const ConvProblem& problem, const std::vector<float>& values,
                                    int64_t n, int64_t pixels, int64_t channels,
                                    bool backward = false) {
    if (problem.channels_last) return values;
    std::vector<float> result(values.size());
    for (int64_t i = 0; i < n; ++i) {
      for (int64_t p = 0; p < pixels; ++p) {
        for (int64_t c = 0; c < channels; ++c) {
          const int64_t last = (i * pixels + p) * channels + c,
                        first = (i * channels + c) * pixels + p;
          result[backward ? last : first] = values[backward ? first : last];
        }
      }
    }
    return result;
  }
  std::vector<float> In(const ConvProblem& problem, const std::vector<float>& v,
                        bool backward = false) const {
    return Ordered(problem, v, c_.batch, c_.height * c_.width, c_.channels, backward);
  }
  std::vector<float> Out(const ConvProblem& problem, const std::vector<float>& v,
                         bool backward = false) const {
    return Ordered(problem, v, c_.batch, c_.out_height * c_.out_width, c_.filters, backward);
  }
  std::vector<float> Filter(const ConvProblem& problem, const std::vector<float>& v,
                            bool backward = false) const {
    return Ordered(problem, v, c_.filters, 9, c_.channels, backward);
  }
};

TEST_P(FloatWinogradTest, Forward) {
  for (ConvProblem problem : Orders()) {
    SCOPED_TRACE(problem.ToString());
    const std::vector<float> x = In(problem, x_), filter = Filter(problem, filter_);
    std::vector<float> y(out_size_), sum = Out(problem, z_);
    WinogradCorrelation(problem, WinogradCorrelation::kForward)
        .Run(x.data(), filter.data(), bias_.data(), y.data());
    ExpectNear(Out(problem, y, true), ExpectedForward(), 9.0 * c_.channels);
    problem.add_to_dst = problem.relu = true;
    WinogradCorrelation(problem, WinogradCorrelation::kForward)
        .Run(x.data(), filter.data(), bias_.data(), sum.data());
    ExpectNear(Out(problem, sum, true), ExpectedSumRelu(), 9.0 * c_.channels);
  }
}

TEST_P(FloatWinogradTest, ConstantFilterIsKept) {
  for (ConvProblem problem : Orders()) {
    problem.constant_filter = true;
    WinogradCorrelation conv(problem, WinogradCorrelation::kForward);
    std::vector<float> filter = Filter(problem, filter_), first(out_size_), second(out_size_);
    const std::vector<float> x = In(problem, x_);
    conv.Run(x.data(), filter.data(), bias_.data(), first.data());
    filter.assign(filter.size(), 0.f);
    conv.Run(x.data(), filter.data(), bias_.data(), second.data());
    EXPECT_EQ(second, first) << "the promise was that it does not change";
    ExpectNear(Out(problem, second, true), ExpectedForward(), 9.0 * c_.channels);
  }
}

TEST_P(FloatWinogradTest, BackwardData) {
  for (const ConvProblem& problem : Orders()) {
    SCOPED_TRACE(problem.ToString());
    std::vector<float> dx(in_size_);
    WinogradCorrelation(problem, WinogradCorrelation::kBackwardData)
        .Run(Out(problem, z_).data(), Filter(problem, filter_).data(), nullptr, dx.data());
    ExpectNear(In(problem, dx, true), ExpectedBackwardData(), 9.0 * c_.filters);
  }
}

TEST_P(FloatWinogradTest, BackwardFilter) {
  const double products = static_cast<double>(out_size_) / static_cast<double>(c_.filters);
  for (const ConvProblem& problem : Orders()) {
    SCOPED_TRACE(problem.ToString());
    std::vector<float> dw(filter_size_), db(c_.filters);
    WinogradFilterGradient gradient(problem);
    for (int run = 0; run < 2; ++run) {  // sums begin anew
      gradient.Run(In(problem, x_).data(), Out(problem, z_).data(), dw.data(), db.data());
      ExpectNear(Filter(problem, dw, true), ExpectedBackwardFilter(), products);
      ExpectNear(db, ExpectedBias(), products);
    }
  }
}

// What users get, whoever computes it.
TEST_P(FloatWinogradTest, IsWhatConvolutionsFallBackTo) {
  for (const ConvProblem& problem : Orders()) {
    std::vector<float> y(out_size_);
    ConvForward(problem).Run(In(problem, x_).data(), Filter(problem, filter_).data(), bias_.data(),
                             y.data());
    ExpectNear(Out(problem, y, true), ExpectedForward(), 9.0 * c_.channels);
  }
}

TEST_P(FloatWinogradTest, NaNStaysInItsTilesAndImage) {
  std::vector<float> x = x_, y(out_size_), clean(out_size_);
  x[0] = std::numeric_limits<float>::quiet_NaN();
  ConvProblem relu = problem_;
  relu.relu = true;
  WinogradCorrelation conv(relu, WinogradCorrelation::kForward);
  conv.Run(x_.data(), filter_.data(), bias_.data(), clean.data());
  conv.Run(x.data(), filter_.data(), bias_.data(), y.data());
  if (c_.pad_top > 0 && c_.pad_left > 0) {
    EXPECT_TRUE(std::isnan(y[0]));
  }
  for (int64_t i = out_size_ / c_.batch; i < out_size_; ++i) ASSERT_EQ(y[i], clean[i]);
}

INSTANTIATE_TEST_SUITE_P(All, FloatWinogradTest, ::testing::ValuesIn(Cases()),
                         [](const auto& info) { return info.param.name; });

TEST(FloatCopiesTest, AreMadeWithoutAvx512) {
  const char* max = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (max == nullptr || max != std::string("AVX2")) GTEST_SKIP() << "oneDNN takes what there is";
  EXPECT_FALSE(MultipliesBFloat16());
}

// oneDNN reads the variable once, and the warning comes once: so a process of its own.
TEST(FloatCopiesDeathTest, AreAWarning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const caffe2::testing::ScopedVariable isa("ONEDNN_MAX_CPU_ISA", "AVX2");
  const caffe2::testing::ScopedVariable old_name("DNNL_MAX_CPU_ISA", "AVX2");
  EXPECT_EXIT(std::_Exit(MultipliesBFloat16() ? 1 : 0), ::testing::ExitedWithCode(0),
              "oneDNN has no products of bfloat16 on this processor .* slower than float");
}

TEST(Winograd, IsAWarningWhereThereIsNone) {
  ConvProblem problem;
  problem.src = {1, 32, 8, 8};
  problem.dst = {1, 32, 4, 4};
  problem.filter = {32, 32, 3, 3};
  problem.stride = {2, 2};
  problem.dilation = problem.pad_begin = {1, 1};
  problem.type = problem.filter_type = TypeMeta::Make<float>();
  const auto log_of = [&](ConvAlgorithm algorithm) {
    problem.algorithm = algorithm;
    ::testing::internal::CaptureStderr();
    const ConvForward conv(problem);
    return ::testing::internal::GetCapturedStderr();
  };
  EXPECT_NE(log_of(ConvAlgorithm::kWinograd).find("there is no Winograd forward convolution of "),
            std::string::npos);
  EXPECT_EQ(log_of(ConvAlgorithm::kAuto), "");
}

TEST(Winograd, SupportsPlainConvolutionsOf3x3Only) {
  if (!MultipliesBFloat16()) GTEST_SKIP() << "no products of bfloat16 on this processor";
  ConvProblem problem;
  problem.src = problem.dst = {4, 64, 28, 28};
  problem.filter = {64, 64, 3, 3};
  problem.stride = problem.dilation = problem.pad_begin = {1, 1};
  problem.channels_last = true;
  problem.type = TypeMeta::Make<bfloat16>();
  EXPECT_TRUE(WinogradSupports(problem));
  const auto supports = [&](auto change) {
    ConvProblem other = problem;
    change(&other);
    return WinogradSupports(other);
  };
  EXPECT_FALSE(supports([](auto* p) { p->stride = {2, 1}; }));
  EXPECT_FALSE(supports([](auto* p) { p->dilation = {1, 2}; }));
  EXPECT_FALSE(supports([](auto* p) { p->groups = 2; }));
  EXPECT_FALSE(supports([](auto* p) { p->filter[3] = 5; }));
  EXPECT_FALSE(supports([](auto* p) { p->pad_begin = {3, 1}; }));
  EXPECT_FALSE(supports([](auto* p) { p->channels_last = false; }));
  EXPECT_TRUE(supports([](auto* p) { p->type = TypeMeta::Make<float>(); }));
  EXPECT_TRUE(supports([](auto* p) {
    p->type = TypeMeta::Make<float>();
    p->channels_last = false;
  }));
  EXPECT_FALSE(supports([](auto* p) { p->type = TypeMeta::Make<double>(); }));
}

}  // namespace
}  // namespace caffe2::onednn
