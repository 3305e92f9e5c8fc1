// Winograd convolutions in bfloat16, held against sums in double over the same rounded numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "caffe2/utils/onednn_conv.h"
#include "caffe2/utils/onednn_float_copies.h"
#include "caffe2/utils/onednn_winograd.h"

namespace caffe2::onednn {
namespace {

struct Case {
  std::string name;
  int64_t batch, channels, filters, height, width, pad_top, pad_left;
  int64_t out_height, out_width;
};

// Odd edges, every padding, one pixel, and enough tiles for several chunks of which the last is
// short.
std::vector<Case> Cases() {
  return {
      {"odd", 3, 32, 48, 9, 7, 1, 1, 9, 7},          {"no_padding", 2, 16, 8, 6, 11, 0, 0, 4, 9},
      {"wide_padding", 1, 24, 16, 5, 4, 2, 2, 7, 6}, {"uneven", 2, 5, 3, 6, 6, 2, 0, 6, 5},
      {"pixel", 1, 3, 2, 1, 1, 1, 1, 1, 1},          {"chunks", 7, 64, 33, 37, 21, 1, 1, 37, 21}};
}

class WinogradTest : public ::testing::TestWithParam<Case> {
 protected:
  WinogradTest() {
    problem_.src = {c_.batch, c_.channels, c_.height, c_.width};
    problem_.dst = {c_.batch, c_.filters, c_.out_height, c_.out_width};
    problem_.filter = {c_.filters, c_.channels, 3, 3};
    problem_.stride = problem_.dilation = {1, 1};
    problem_.pad_begin = {c_.pad_top, c_.pad_left};
    problem_.channels_last = true;
    problem_.type = TypeMeta::Make<bfloat16>();
    problem_.filter_type = problem_.bias_type = TypeMeta::Make<float>();
    problem_.algorithm = ConvAlgorithm::kWinograd;
  }

  void SetUp() override {
    if (!MultipliesBFloat16()) GTEST_SKIP() << "no products of bfloat16 on this processor";
  }

  static std::vector<bfloat16> Random(int64_t n, int seed) {
    std::mt19937 engine(seed);
    std::uniform_real_distribution<float> values(-1, 1);
    std::vector<bfloat16> result(n);
    for (bfloat16& value : result) value = ToBFloat16(values(engine));
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

  // Rounding of inputs, tiles and filters, each by at most one part in 256, is random: it grows
  // with the root of the number of products in a sum.
  template <typename T>
  static void ExpectNear(const std::vector<T>& actual, const std::vector<double>& expected,
                         double products) {
    const double tolerance = 0.02 * std::sqrt(products);
    for (size_t i = 0; i < expected.size(); ++i) {
      double value;
      if constexpr (std::is_same_v<T, bfloat16>) {
        value = ToFloat(actual[i]);
      } else {
        value = actual[i];
      }
      ASSERT_NEAR(value, expected[i], tolerance + 0.005 * std::abs(expected[i])) << "at " << i;
    }
  }

  const Case c_ = GetParam();
  ConvProblem problem_;
  const int64_t in_size_ = c_.batch * c_.height * c_.width * c_.channels;
  const int64_t out_size_ = c_.batch * c_.out_height * c_.out_width * c_.filters;
  const int64_t filter_size_ = c_.filters * 9 * c_.channels;
  const std::vector<bfloat16> x_ = Random(in_size_, 1);
  const std::vector<bfloat16> filter_ = Random(filter_size_, 2);
  const std::vector<bfloat16> z_ = Random(out_size_, 3);
  const std::vector<float> wide_filter_ = [this] {
    std::vector<float> wide;
    for (bfloat16 value : filter_) wide.push_back(ToFloat(value));
    return wide;
  }();
  const std::vector<float> bias_ = std::vector<float>(c_.filters, 0.75f);
};

TEST_P(WinogradTest, Forward) {
  std::vector<double> conv(out_size_, 0.75);
  ForProducts([&](int64_t out, int64_t in, int64_t k) {
    conv[out] += double{ToFloat(x_[in])} * ToFloat(filter_[k]);
  });
  const double products = 9.0 * c_.channels;
  std::vector<bfloat16> y(out_size_);
  ConvForward(problem_).Run(x_.data(), wide_filter_.data(), bias_.data(), y.data());
  ExpectNear(y, conv, products);

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
  std::vector<double> expected = conv;
  for (int64_t i = 0; i < out_size_; ++i) {
    expected[i] = std::max(0.0, expected[i] + ToFloat(z_[i]));
  }
  ExpectNear(sum, expected, products);
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
  std::vector<double> expected(in_size_);
  ForProducts([&](int64_t out, int64_t in, int64_t k) {
    expected[in] += double{ToFloat(z_[out])} * ToFloat(filter_[k]);
  });
  std::vector<bfloat16> dx(in_size_);
  ConvBackwardData(problem_).Run(z_.data(), wide_filter_.data(), dx.data());
  ExpectNear(dx, expected, 9.0 * c_.filters);
}

TEST_P(WinogradTest, BackwardFilter) {
  std::vector<double> expected(filter_size_), d_bias(c_.filters);
  ForProducts([&](int64_t out, int64_t in, int64_t k) {
    expected[k] += double{ToFloat(z_[out])} * ToFloat(x_[in]);
  });
  for (int64_t i = 0; i < out_size_; ++i) d_bias[i % c_.filters] += ToFloat(z_[i]);
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

TEST(FloatCopiesTest, AreMadeWithoutAvx512) {
  const char* most = std::getenv("ONEDNN_MAX_CPU_ISA");
  if (most == nullptr || most != std::string("AVX2")) GTEST_SKIP() << "oneDNN takes what there is";
  EXPECT_FALSE(MultipliesBFloat16());
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
  EXPECT_FALSE(supports([](auto* p) { p->type = TypeMeta::Make<float>(); }));
}

}  // namespace
}  // namespace caffe2::onednn
