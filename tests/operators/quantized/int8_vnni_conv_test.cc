#include "operators/quantized/int8_vnni_conv.h"

#include <algorithm>
#include <cmath>

#include "caffe2/utils/onednn_processor.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

using int8::VnniConv;

struct VnniCase {
  int64_t images, height, width, channels, filters;
  int kernel, stride, pad, dilation;
  friend void PrintTo(const VnniCase& c, std::ostream* out) {
    *out << c.images << "x" << c.height << "x" << c.width << "x" << c.channels << " to "
         << c.filters << ", kernel " << c.kernel << ", stride " << c.stride << ", pad " << c.pad
         << ", dilation " << c.dilation;
  }
};

class VnniConvTest : public ::testing::TestWithParam<VnniCase> {
 protected:
  static constexpr uint8_t kPad = 77, kMin = 3;

  void SetUp() override {
    if (!onednn::HasVnniWithoutAmx()) GTEST_SKIP() << "needs AVX-512 and VNNI, and no AMX";
    const VnniCase& c = GetParam();
    const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("kernel", c.kernel),
                                     MakeArgument("stride", c.stride), MakeArgument("pad", c.pad),
                                     MakeArgument("dilation", c.dilation)};
    OperatorDef def;
    for (const Argument& argument : args) *def.add_arg() = argument;
    shape_ = ConvShape::Make(WindowArguments(ArgumentHelper(def)),
                             {c.images, c.height, c.width, c.channels},
                             {c.filters, c.kernel, c.kernel, c.channels});
    x_ = RandomIntegers<uint8_t>(c.images * c.height * c.width * c.channels, 1, 0, 255);
    filter_ = RandomIntegers<int8_t>(c.filters * c.kernel * c.kernel * c.channels, 2, -128, 127);
    for (int64_t m = 0; m < c.filters; ++m) {
      epilogue_.multipliers.push_back(2e-3f / static_cast<float>(1 + m % 5));
      epilogue_.offsets.push_back(static_cast<float>(90 + m % 7));
    }
    epilogue_.min = kMin;
    pixels_ = shape_.y.batch * shape_.y.SpatialSize();
  }

  int64_t SumAt(int64_t pixel, int64_t m) const {
    const VnniCase& c = GetParam();
    const int64_t rows = shape_.y.spatial[0], columns = shape_.y.spatial[1];
    const int64_t n = pixel / (rows * columns), i = pixel / columns % rows, j = pixel % columns;
    int64_t sum = 0;
    for (int64_t k = 0; k < c.kernel * c.kernel; ++k) {
      const int64_t h = i * c.stride - c.pad + k / c.kernel * c.dilation;
      const int64_t w = j * c.stride - c.pad + k % c.kernel * c.dilation;
      const bool outside = h < 0 || h >= c.height || w < 0 || w >= c.width;
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        const int64_t level =
            outside ? kPad : x_[((n * c.height + h) * c.width + w) * c.channels + channel];
        sum += level * filter_[(m * c.kernel * c.kernel + k) * c.channels + channel];
      }
    }
    return sum;
  }

  ConvShape shape_;
  std::vector<uint8_t> x_;
  std::vector<int8_t> filter_;
  onednn::ByteEpilogue epilogue_;
  int64_t pixels_ = 0;
};

// Exact sums, rounded once, in channels of larger pixels: bytes between these stay as they were.
TEST_P(VnniConvTest, WritesItsChannelsOnly) {
  const int64_t filters = GetParam().filters;
  epilogue_.accumulator_factor = 0.375f;
  for (const bool adds : {false, true}) {
    ASSERT_TRUE(VnniConv::Supports(shape_, epilogue_, adds));
    const VnniConv conv(shape_, filter_.data(), kPad, epilogue_, adds);
    for (const int64_t gap : {0, 1, 19}) {
      const int64_t step = filters + gap;
      std::vector<uint8_t> y = RandomIntegers<uint8_t>(pixels_ * step, 3, 0, 255);
      const std::vector<uint8_t> old = y;
      conv.Run(x_.data(), y.data(), step);
      for (int64_t p = 0; p < pixels_; ++p) {
        for (int64_t m = 0; m < filters; ++m) {
          const int64_t at = p * step + m;
          const double value = double{epilogue_.multipliers[m]} * static_cast<double>(SumAt(p, m)) +
                               epilogue_.offsets[m] + (adds ? 0.375 * old[at] : 0);
          const double level = std::clamp(std::rint(value), double{kMin}, 255.);
          ASSERT_NEAR(y[at], level, std::abs(value - std::floor(value) - 0.5) < 1e-3)
              << "pixel " << p << ", filter " << m << (adds ? ", added" : "");
        }
        for (int64_t m = filters; m < step; ++m) ASSERT_EQ(y[p * step + m], old[p * step + m]) << p;
      }
    }
  }
}

// Offsets and multipliers for which many values lie in the middle between two levels.
TEST_P(VnniConvTest, RoundsLikeOneDnn) {
  const VnniCase& c = GetParam();
  if (c.images == 0) return;
  epilogue_.accumulator_factor = 0.7f;
  for (int64_t m = 0; m < c.filters; ++m) {
    epilogue_.multipliers[m] = 0.01f / static_cast<float>(1 + m % 3);
    epilogue_.offsets[m] = 60.505f;
  }
  for (const bool adds : {false, true}) {
    std::vector<uint8_t> y = RandomIntegers<uint8_t>(pixels_ * c.filters, 3, 0, 255), expected = y;
    VnniConv(shape_, filter_.data(), 0, epilogue_, adds).Run(x_.data(), y.data(), c.filters);
    onednn::ConvProblem problem = MakeConvProblem(shape_, true, TypeMeta::Make<uint8_t>(),
                                                  TypeMeta::Make<int8_t>(), TypeMeta());
    problem.add_to_dst = adds;
    onednn::ByteConvForward(problem, epilogue_).Run(x_.data(), filter_.data(), expected.data());
    EXPECT_EQ(y, expected);
  }
}

TEST_P(VnniConvTest, RefusesWhatItCannotCompute) {
  onednn::ByteEpilogue epilogue = epilogue_;
  epilogue.float_dst = true;
  EXPECT_FALSE(VnniConv::Supports(shape_, epilogue, false));
  epilogue = epilogue_;
  epilogue.accumulator_factor = 1e9f;
  EXPECT_TRUE(VnniConv::Supports(shape_, epilogue, false));
  EXPECT_FALSE(VnniConv::Supports(shape_, epilogue, true));
  epilogue = epilogue_;
  epilogue.multipliers[0] = 1e9f;  // the largest sums times this exceed 32 bits
  EXPECT_FALSE(VnniConv::Supports(shape_, epilogue, false));
  ConvShape narrow = shape_;
  narrow.y.spatial[1] = 3;
  EXPECT_FALSE(VnniConv::Supports(narrow, epilogue_, false));
  ConvShape groups = shape_;
  groups.group = 2;
  EXPECT_FALSE(VnniConv::Supports(groups, epilogue_, false));
  EXPECT_THROW(VnniConv(groups, filter_.data(), kPad, epilogue_, false), EnforceNotMet);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, VnniConvTest,
    ::testing::Values(VnniCase{1, 4, 4, 4, 16, 1, 1, 0, 1}, VnniCase{2, 3, 17, 5, 17, 1, 1, 0, 1},
                      VnniCase{1, 9, 35, 3, 33, 3, 2, 1, 1}, VnniCase{2, 7, 6, 9, 1, 3, 1, 2, 2},
                      VnniCase{3, 5, 40, 21, 15, 1, 2, 0, 1}, VnniCase{1, 1, 4, 64, 48, 3, 1, 1, 1},
                      VnniCase{2, 5, 13, 4, 80, 1, 1, 0, 1}, VnniCase{1, 6, 9, 8, 200, 3, 2, 1, 1},
                      VnniCase{2, 40, 41, 200, 70, 1, 1, 0, 1},
                      VnniCase{0, 8, 8, 8, 8, 3, 1, 1, 1}));

}  // namespace
}  // namespace caffe2::testing
