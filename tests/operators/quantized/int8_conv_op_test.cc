// Products of quantized tensors: levels must equal sums of integers, rounded.
#include "caffe2/utils/onednn_int8_matmul.h"
#include "tests/core/scoped_variable.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

struct ConvCase {
  int64_t height, width, channels, filters, kernel, stride, pad, dilation, group;
  int x_zero, w_zero;
};

class Int8ConvTest : public ::testing::TestWithParam<ConvCase> {
 protected:
  static constexpr int64_t kImages = 2;
  static constexpr float kXScale = 0.02f, kWScale = 0.01f;

  void FeedOperands(const std::vector<int64_t>& x, const std::vector<int64_t>& w, int64_t bias) {
    FeedRandomLevels(&ws_, "X", x, 1, kXScale, GetParam().x_zero);
    FeedRandomLevels(&ws_, "W", w, 2, kWScale, GetParam().w_zero);
    FeedInt8(&ws_, "B", {bias}, RandomIntegers<int32_t>(bias, 3, -5000, 5000), kXScale * kWScale,
             0);
  }
  int64_t X(int64_t i) const {
    return FetchInt8(ws_, "X").t.data<uint8_t>()[i] - GetParam().x_zero;
  }
  int64_t W(int64_t i) const {
    return FetchInt8(ws_, "W").t.data<uint8_t>()[i] - GetParam().w_zero;
  }
  int64_t B(int64_t i) const { return FetchInt8(ws_, "B").t.data<int32_t>()[i]; }

  std::vector<Argument> Arguments() const {
    const ConvCase& c = GetParam();
    return WithScale({MakeArgument("order", std::string("NHWC")), MakeArgument("kernel", c.kernel),
                      MakeArgument("stride", c.stride), MakeArgument("pad", c.pad)},
                     kYScale, kYZero);
  }
  // Y must be the levels of the sums, plus the `addends`, in steps of Y, if there are any.
  void ExpectLevels(const std::vector<int64_t>& sums, int min,
                    const std::vector<double>& addends = {}) const {
    const double unit = double{kXScale} * kWScale;
    std::vector<int> expected;
    for (size_t i = 0; i < sums.size(); ++i) {
      const double addend = addends.empty() ? 0 : addends[i];
      const double steps = std::rint(static_cast<double>(sums[i]) * (unit / kYScale) + addend);
      expected.push_back(ReferenceLevel(steps, 1, kYZero, min));
    }
    EXPECT_EQ(FetchLevels(ws_, "Y"), expected);
  }

  static constexpr float kYScale = 0.5f;
  static constexpr int kYZero = 110;
  Workspace ws_;
};

TEST_P(Int8ConvTest, ConvIsExact) {
  const ConvCase& c = GetParam();
  const int64_t per_group = c.channels / c.group;
  FeedOperands({kImages, c.height, c.width, c.channels}, {c.filters, c.kernel, c.kernel, per_group},
               c.filters);
  std::vector<Argument> args = Arguments();
  args.push_back(MakeArgument("dilation", c.dilation));
  args.push_back(MakeArgument("group", c.group));
  RunOp(&ws_, Op("Int8Conv", {"X", "W", "B"}, {"Y"}, args));

  const auto size = [&](int64_t n) {
    return (n + 2 * c.pad - (c.kernel - 1) * c.dilation - 1) / c.stride + 1;
  };
  const int64_t rows = size(c.height), columns = size(c.width);
  EXPECT_EQ(FetchInt8(ws_, "Y").t.sizes(),
            (std::vector<int64_t>{kImages, rows, columns, c.filters}));
  std::vector<int64_t> sums, no_bias;
  for (int64_t pixel = 0; pixel < kImages * rows * columns; ++pixel) {
    for (int64_t m = 0; m < c.filters; ++m) {
      int64_t sum = 0;
      for (int64_t k = 0; k < c.kernel * c.kernel; ++k) {
        const int64_t h = pixel / columns % rows * c.stride - c.pad + k / c.kernel * c.dilation;
        const int64_t w = pixel % columns * c.stride - c.pad + k % c.kernel * c.dilation;
        if (h < 0 || h >= c.height || w < 0 || w >= c.width) continue;
        const int64_t at = ((pixel / (rows * columns) * c.height + h) * c.width + w) * c.channels +
                           m / (c.filters / c.group) * per_group;
        for (int64_t i = 0; i < per_group; ++i) {
          sum += X(at + i) * W((m * c.kernel * c.kernel + k) * per_group + i);
        }
      }
      no_bias.push_back(sum);
      sums.push_back(sum + B(m));
    }
  }
  ExpectLevels(sums, 0);
  RunOp(&ws_, Op("Int8ConvRelu", {"X", "W", "B"}, {"Y"}, args));
  ExpectLevels(sums, kYZero);
  RunOp(&ws_, Op("Int8Conv", {"X", "W"}, {"Y"}, args));
  ExpectLevels(no_bias, 0);
  FeedRandomLevels(&ws_, "Z", FetchInt8(ws_, "Y").t.sizes(), 4, 0.75f, 90);
  std::vector<double> addends;
  for (const int level : FetchLevels(ws_, "Z")) addends.push_back(0.75 / kYScale * (level - 90));
  RunOp(&ws_, Op("Int8ConvSum", {"X", "W", "B", "Z"}, {"Y"}, args));
  ExpectLevels(sums, 0, addends);
  RunOp(&ws_, Op("Int8ConvSum", {"X", "W", "Z"}, {"Y"}, args));
  ExpectLevels(no_bias, 0, addends);
}

TEST_P(Int8ConvTest, ConvTransposeIsExact) {
  const ConvCase& c = GetParam();
  if (c.group != 1 || c.dilation != 1) return;  // it knows neither
  FeedOperands({kImages, c.height, c.width, c.channels},
               {c.channels, c.kernel, c.kernel, c.filters}, c.filters);
  const std::vector<Argument> args = Arguments();
  RunOp(&ws_, Op("Int8ConvTranspose", {"X", "W", "B"}, {"Y"}, args));
  const int64_t rows = (c.height - 1) * c.stride + c.kernel - 2 * c.pad;
  const int64_t columns = (c.width - 1) * c.stride + c.kernel - 2 * c.pad;
  EXPECT_EQ(FetchInt8(ws_, "Y").t.sizes(),
            (std::vector<int64_t>{kImages, rows, columns, c.filters}));
  std::vector<int64_t> sums;
  for (int64_t i = 0; i < kImages * rows * columns * c.filters; ++i)
    sums.push_back(B(i % c.filters));
  for (int64_t pixel = 0; pixel < kImages * c.height * c.width; ++pixel) {
    for (int64_t k = 0; k < c.kernel * c.kernel; ++k) {
      const int64_t h = pixel / c.width % c.height * c.stride - c.pad + k / c.kernel;
      const int64_t w = pixel % c.width * c.stride - c.pad + k % c.kernel;
      if (h < 0 || h >= rows || w < 0 || w >= columns) continue;
      const int64_t at = ((pixel / (c.height * c.width) * rows + h) * columns + w) * c.filters;
      for (int64_t m = 0; m < c.filters; ++m) {
        for (int64_t i = 0; i < c.channels; ++i) {
          sums[at + m] +=
              X(pixel * c.channels + i) * W((i * c.kernel * c.kernel + k) * c.filters + m);
        }
      }
    }
  }
  ExpectLevels(sums, 0);
  RunOp(&ws_, Op("Int8ConvTranspose", {"X", "W"}, {"Y"}, args));
  for (size_t i = 0; i < sums.size(); ++i) sums[i] -= B(static_cast<int64_t>(i) % c.filters);
  ExpectLevels(sums, 0);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Int8ConvTest,
    ::testing::Values(ConvCase{6, 5, 7, 9, 1, 1, 0, 1, 1, 117, 131},  // a product as it is
                      ConvCase{7, 9, 5, 4, 3, 1, 1, 1, 1, 0, 255},
                      ConvCase{8, 6, 16, 8, 3, 2, 1, 1, 1, 255, 0},
                      ConvCase{9, 9, 4, 6, 3, 1, 2, 2, 2, 128, 128},   // groups, dilation
                      ConvCase{9, 8, 40, 40, 3, 2, 1, 1, 40, 60, 70},  // a channel each
                      ConvCase{5, 5, 6, 12, 1, 2, 0, 1, 3, 3, 200},
                      ConvCase{3, 4, 5, 3, 2, 2, 0, 1, 1, 90, 17},
                      ConvCase{24, 24, 130, 4, 3, 1, 1, 1, 1, 90, 17}));  // several blocks

// Convolutions with constant filters: packed once, computed by fused kernels.
class PackedInt8ConvTest : public Int8ConvTest {
 protected:
  static constexpr int kFilterZero = 128;  // the only one that the fused kernels know

  void SetUp() override {
    const ConvCase& c = GetParam();
    const std::vector<int64_t> w{c.filters, c.kernel, c.kernel, c.channels / c.group};
    FeedRandomLevels(&ws_, "X", {kImages, c.height, c.width, c.channels}, 1, kXScale, c.x_zero);
    FeedRandomLevels(&ws_, "W", w, 2, kWScale, kFilterZero);
    FeedInt8(&ws_, "B", {c.filters}, RandomIntegers<int32_t>(c.filters, 3, -5000, 5000), 1.f, 0);
    args_ = Arguments();
    args_.push_back(MakeArgument("dilation", c.dilation));
    args_.push_back(MakeArgument("group", c.group));
    std::vector<float> scales;
    for (int64_t m = 0; m < c.filters; ++m) {
      scales.push_back(kWScale * (1 + static_cast<float>(m % 5)));
    }
    args_.push_back(MakeArgument("W_scales", scales));
  }
  std::vector<Argument> With(const std::string& name, int value) const {
    std::vector<Argument> args = args_;
    args.push_back(MakeArgument(name, value));
    return args;
  }
  // Runs the operator exactly and packed. Levels may differ by one, and only few.
  void ExpectPackedIsExact(const std::string& type, const std::vector<std::string>& inputs) {
    RunOp(&ws_, Op(type, inputs, {"exact"}, args_));
    RunOp(&ws_, Op(type, inputs, {"packed"}, With("constant_filter", 1)));
    EXPECT_EQ(FetchInt8(ws_, "packed").scale, kYScale);
    const std::vector<int> exact = FetchLevels(ws_, "exact"), packed = FetchLevels(ws_, "packed");
    ASSERT_EQ(exact.size(), packed.size());
    size_t others = 0;
    for (size_t i = 0; i < exact.size(); ++i) {
      ASSERT_NEAR(exact[i], packed[i], 1) << type << " " << i;
      others += exact[i] != packed[i];
    }
    EXPECT_LE(others, 1 + exact.size() / 1000) << type;
  }
  std::vector<Argument> args_;
};

TEST_P(PackedInt8ConvTest, LevelsAreThoseOfExactSums) {
  ExpectPackedIsExact("Int8Conv", {"X", "W", "B"});
  ExpectPackedIsExact("Int8Conv", {"X", "W"});
  ExpectPackedIsExact("Int8ConvRelu", {"X", "W", "B"});
  FeedRandomLevels(&ws_, "Z", FetchInt8(ws_, "exact").t.sizes(), 4, 0.75f, 90);
  ExpectPackedIsExact("Int8ConvSum", {"X", "W", "B", "Z"});
  ExpectPackedIsExact("Int8ConvSum", {"X", "W", "Z"});
  ExpectPackedIsExact("Int8ConvSumRelu", {"X", "W", "B", "Z"});
}

// Two convolutions that write their channels into one tensor give what Int8Concat gives.
TEST_P(PackedInt8ConvTest, PartsJoinWithoutACopy) {
  const ConvCase& c = GetParam();
  for (const int constant : {0, 1}) {
    std::vector<Argument> args = With("constant_filter", constant), second = args;
    RunOp(&ws_, Op("Int8Conv", {"X", "W", "B"}, {"a"}, args));
    RunOp(&ws_, Op("Int8ConvRelu", {"X", "W"}, {"b"}, args));
    RunOp(&ws_, Op("Int8Concat", {"b", "a", "b"}, {"expected"}, {MakeArgument("axis", 3)}));
    const std::vector<int> expected = FetchLevels(ws_, "expected");
    args.push_back(MakeArgument("Y_channels", 3 * c.filters));
    args.push_back(MakeArgument("Y_channel", c.filters));
    RunOp(&ws_, Op("Int8Conv", {"X", "W", "B"}, {"Y"}, args));
    RunOp(&ws_, Op("Int8ConvReluJoin", {"X", "W", "Y"}, {"Y"}, second));
    const std::vector<int> before = FetchLevels(ws_, "Y");
    second.push_back(MakeArgument("Y_channel", 2 * c.filters));
    RunOp(&ws_, Op("Int8ConvReluJoin", {"X", "W", "Y"}, {"copy"}, second));
    EXPECT_EQ(FetchLevels(ws_, "copy"), expected);
    EXPECT_EQ(FetchLevels(ws_, "Y"), before);
    second.back().set_i(0);
    RunOp(&ws_, Op("Int8ConvJoin", {"X", "W", "B", "copy"}, {"copy"}, second));
    second.back().set_i(c.filters);
    RunOp(&ws_, Op("Int8Concat", {"a", "a", "b"}, {"expected"}, {MakeArgument("axis", 3)}));
    EXPECT_EQ(FetchLevels(ws_, "copy"), FetchLevels(ws_, "expected"));
  }
}

// oneDNN reads the variable once, and the warning comes once: so a process of its own.
TEST(PackedInt8ConvDeathTest, SlowerKernelsAreAWarning) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const ScopedVariable isa("ONEDNN_MAX_CPU_ISA", "AVX2"), old_name("DNNL_MAX_CPU_ISA", "AVX2");
  const auto run = [] {
    Workspace ws;
    FeedRandomLevels(&ws, "X", {1, 4, 4, 8}, 1, 0.02f, 120);
    FeedRandomLevels(&ws, "W", {8, 1, 1, 8}, 2, 0.01f, 128);
    RunOp(&ws, Op("Int8Conv", {"X", "W"}, {"Y"},
                  WithScale({MakeArgument("order", std::string("NHWC")), MakeArgument("kernel", 1),
                             MakeArgument("constant_filter", 1)},
                            0.5f, 110)));
    std::_Exit(FetchLevels(ws, "Y").size() == 128 ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "this processor has no VNNI");
}

TEST_P(PackedInt8ConvTest, SumsAndScalesAreRight) {
  RunOp(&ws_, Op("Int8Conv", {"X", "W", "B"}, {"sum_of_products"}, With("dequantize_output", 1)));
  std::vector<float> values = FetchValues<float>(ws_, "sum_of_products");
  // The same with a scale for all filters, in the unit of a sum.
  std::vector<Argument> plain = args_;
  plain.pop_back();
  plain.push_back(MakeArgument("dequantize_output", 1));
  RunOp(&ws_, Op("Int8Conv", {"X", "W", "B"}, {"one_scale"}, plain));
  const std::vector<float> one_scale = FetchValues<float>(ws_, "one_scale");
  ASSERT_EQ(values.size(), one_scale.size());
  const int64_t filters = GetParam().filters;
  for (size_t i = 0; i < values.size(); ++i) {
    const float factor = 1 + static_cast<float>(static_cast<int64_t>(i) % filters % 5);
    ASSERT_FLOAT_EQ(values[i], factor * one_scale[i]) << i;
  }
  std::vector<Argument> packed = With("dequantize_output", 1);
  packed.push_back(MakeArgument("constant_filter", 1));
  RunOp(&ws_, Op("Int8ConvRelu", {"X", "W", "B"}, {"rectified"}, packed));
  const std::vector<float> rectified = FetchValues<float>(ws_, "rectified");
  for (size_t i = 0; i < values.size(); ++i) {
    ASSERT_NEAR(rectified[i], std::max(values[i], 0.f), 1e-4f * (1 + std::abs(values[i]))) << i;
  }
  // A sum in place of one of its terms.
  FeedRandomLevels(&ws_, "Z", FetchInt8(ws_, "X").t.sizes(), 4, 0.75f, 90);
  const std::vector<int64_t> dims = Fetch(ws_, "rectified").sizes();
  for (const int constant : {0, 1}) {
    FeedRandomLevels(&ws_, "Z", dims, 4, 0.75f, 90);
    const std::vector<int> z = FetchLevels(ws_, "Z");
    RunOp(&ws_,
          Op("Int8ConvSumRelu", {"X", "W", "B", "Z"}, {"Z"}, With("constant_filter", constant)));
    EXPECT_EQ(FetchInt8(ws_, "Z").zero_point, kYZero);
    std::vector<int> expected;
    for (size_t i = 0; i < z.size(); ++i) {
      const double sum = values[i] + 0.75 * (z[i] - 90);
      expected.push_back(ReferenceLevel(sum, kYScale, kYZero, kYZero));
    }
    ExpectNear(FetchLevels(ws_, "Z"), expected, 1);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, PackedInt8ConvTest,
    ::testing::Values(ConvCase{6, 5, 7, 9, 1, 1, 0, 1, 1, 117, 0},
                      ConvCase{7, 9, 5, 4, 3, 1, 1, 1, 1, 0, 0},
                      ConvCase{8, 6, 16, 8, 3, 2, 1, 1, 1, 255, 0},   // pads that are not level 0
                      ConvCase{9, 9, 4, 6, 3, 1, 2, 2, 2, 128, 0},    // groups, dilation
                      ConvCase{9, 8, 40, 40, 3, 2, 1, 1, 40, 60, 0},  // a channel each
                      ConvCase{24, 24, 130, 64, 3, 1, 1, 1, 1, 0, 0},
                      ConvCase{5, 4, 4, 16, 1, 1, 0, 1, 1, 7, 0},     // the narrowest rows
                      ConvCase{6, 17, 4, 17, 3, 2, 2, 3, 1, 200, 0},  // columns apart
                      ConvCase{9, 33, 3, 40, 3, 2, 1, 1, 1, 130, 0},  // nine bytes in a row
                      ConvCase{40, 31, 21, 33, 1, 1, 0, 1, 1, 255, 0}));

// A kernel is made anew when the filter, the shape or the quantization of X changes.
TEST(PackedInt8Test, ChangesAreNoticed) {
  Workspace ws;
  const auto feed = [&](int64_t rows, uint64_t seed, float x_scale) {
    FeedRandomLevels(&ws, "X", {rows, 24}, 1, x_scale, 3);
    FeedRandomLevels(&ws, "W", {7, 24}, seed, 0.2f, 128);
  };
  feed(5, 2, 0.1f);
  const std::vector<Argument> args = WithScale({}, 12, 128);
  std::vector<Argument> constant = args;
  constant.push_back(MakeArgument("constant_filter", 1));
  const auto packed = CreateOperator(Op("Int8FC", {"X", "W"}, {"packed"}, constant), &ws);
  for (const auto& [rows, seed, scale] : std::vector<std::tuple<int64_t, uint64_t, float>>{
           {5, 2, 0.1f}, {5, 2, 0.3f}, {2, 2, 0.3f}, {2, 9, 0.3f}}) {
    feed(rows, seed, scale);
    ASSERT_TRUE(packed->Run());
    RunOp(&ws, Op("Int8FC", {"X", "W"}, {"exact"}, args));
    EXPECT_EQ(FetchLevels(ws, "packed"), FetchLevels(ws, "exact")) << rows << " " << seed;
  }
}

TEST(Int8ConvErrorTest, BadScalesAndSummandsAreNamed) {
  Workspace ws;
  FeedRandomLevels(&ws, "X", {1, 4, 4, 3}, 1, 1, 0);
  FeedRandomLevels(&ws, "W", {2, 3, 3, 3}, 1, 1, 128);
  FeedRandomLevels(&ws, "Z", {1, 4, 4, 2}, 1, 1, 0);
  const auto args = [](const Argument& more) {
    return std::vector<Argument>{MakeArgument("order", std::string("NHWC")),
                                 MakeArgument("kernel", 3), more};
  };
  ExpectThrows(&ws,
               Op("Int8Conv", {"X", "W"}, {"Y"},
                  args(MakeArgument("W_scales", std::vector<float>{1, 2, 3}))),
               "W_scales must have one scale for each of the 2 channels of Y, found 3");
  ExpectThrows(
      &ws,
      Op("Int8Conv", {"X", "W"}, {"Y"}, args(MakeArgument("W_scales", std::vector<float>{1, -2}))),
      "W_scales must have positive and finite scales, found -2");
  ExpectThrows(&ws, Op("Int8ConvSum", {"X", "W", "Z"}, {"Y"}, args(MakeArgument("pad", 0))),
               "Z must have the shape of Y: Z has shape");
  ExpectThrows(
      &ws, Op("Int8ConvSum", {"X", "W", "Z"}, {"Y"}, args(MakeArgument("dequantize_output", 1))),
      "does not take dequantize_output");
}

// Offsets in units of such products exceed float.
TEST(PackedInt8Test, FiltersOfTinyScalesGiveTheZeroPoint) {
  Workspace ws;
  FeedRandomLevels(&ws, "X", {1, 6, 6, 8}, 1, 0.02f, 3);
  FeedRandomLevels(&ws, "W", {16, 1, 1, 8}, 2, 1, 128);
  const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                   MakeArgument("kernel", 1),
                                   MakeArgument("Y_scale", 0.05f),
                                   MakeArgument("Y_zero_point", 110),
                                   MakeArgument("constant_filter", 1),
                                   MakeArgument("W_scales", std::vector<float>(16, 4e-37f))};
  RunOp(&ws, Op("Int8Conv", {"X", "W"}, {"Y"}, args));
  for (const int level : FetchLevels(ws, "Y")) ASSERT_EQ(level, 110);
}

TEST(Int8ConvErrorTest, PartsThatDoNotFitAreNamed) {
  Workspace ws;
  FeedRandomLevels(&ws, "X", {1, 4, 4, 3}, 1, 1, 0);
  FeedRandomLevels(&ws, "W", {2, 3, 3, 3}, 1, 1, 128);
  FeedRandomLevels(&ws, "narrow", {1, 2, 1, 4}, 1, 1, 0);
  FeedRandomLevels(&ws, "other", {1, 2, 2, 4}, 1, 0.5f, 0);
  FeedRandomLevels(&ws, "matrix", {4, 4}, 1, 1, 0);
  FeedRandomLevels(&ws, "J", {1, 2, 2, 4}, 1, 1, 0);
  const auto expect = [&](const std::string& joined, const std::string& name, int value,
                          const std::string& message) {
    const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("kernel", 3), MakeArgument(name, value)};
    if (joined.empty()) {
      ExpectThrows(&ws, Op("Int8Conv", {"X", "W"}, {"Y"}, args), message);
    } else {
      ExpectThrows(&ws, Op("Int8ConvJoin", {"X", "W", joined}, {"Y"}, args), message);
    }
  };
  expect("narrow", "Y_channel", 2, "J must have the images and pixels of the result");
  expect("matrix", "Y_channel", 2, "J must have 4 axes");
  expect("other", "Y_channel", 2, "J is not quantized like the result");
  expect("J", "Y_channel", 3, "the 2 channels from argument Y_channel (3) on do not fit into 4");
  expect("J", "Y_channel", -1, "from argument Y_channel (-1) on do not fit into 4");
  expect("J", "dequantize_output", 1, "does not take dequantize_output");
  expect("", "Y_channel", 1, "from argument Y_channel (1) on do not fit into 2 channels of Y");
  expect("", "Y_channels", 1, "do not fit into 1 channels of Y");
  const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                   MakeArgument("kernel", 3), MakeArgument("Y_channels", 8)};
  ExpectThrows(&ws, Op("Int8ConvSum", {"X", "W", "J"}, {"Y"}, args),
               "Int8ConvSum writes all channels of Y");
}

TEST(Int8ConvErrorTest, BadInputIsNamed) {
  Workspace ws;
  FeedRandomLevels(&ws, "X", {1, 4, 4, 3}, 1, 1, 0);
  FeedRandomLevels(&ws, "W", {2, 3, 3, 3}, 1, 1, 0);
  FeedRandomLevels(&ws, "narrow", {2, 3, 3, 2}, 1, 1, 0);
  FeedInt8<int32_t>(&ws, "B", {3}, {1, 2, 3}, 1, 0);
  FeedInt8<uint8_t>(&ws, "scaleless", {2, 3, 3, 3}, std::vector<uint8_t>(54), 0, 0);
  const std::vector<Argument> args{MakeArgument("order", std::string("NHWC")),
                                   MakeArgument("kernel", 3)};
  ExpectThrows(&ws, Op("Int8Conv", {"X", "narrow"}, {"Y"}, args), "[2, 3, 3, 2]");
  ExpectThrows(&ws, Op("Int8Conv", {"X", "W", "B"}, {"Y"}, args),
               "the bias must have one value for each of the 2 channels of Y");
  ExpectThrows(&ws, Op("Int8Conv", {"X", "scaleless"}, {"Y"}, args),
               "a scale must be positive and finite, found 0");
  ExpectThrows(&ws, Op("Int8Conv", {"X", "W"}, {"Y"}, {MakeArgument("kernel", 3)}),
               "in order NHWC only, found NCHW");
  ExpectThrows(&ws, Op("Int8ConvTranspose", {"X", "W"}, {"Y"}, args), "[2, 3, 3, 3]");
  ExpectThrows(&ws, Op("Int8FC", {"X", "W"}, {"Y"}),
               "a row of X must have as many elements as a row of W");
}

TEST(Int8FCTest, IsExact) {
  constexpr int64_t kRows = 5, kOut = 33, kIn = 24;
  Workspace ws;
  FeedRandomLevels(&ws, "X", {kRows, 2, 3, 4}, 1, 0.1f, 45);
  FeedRandomLevels(&ws, "W", {kOut, kIn}, 2, 0.2f, 210);
  FeedInt8(&ws, "B", {kOut}, RandomIntegers<int32_t>(kOut, 3, -9000, 9000), 0.02f, 0);
  RunOp(&ws, Op("Int8FC", {"X", "W", "B"}, {"Y"}, WithScale({}, 12, 128)));
  const std::vector<int> x = FetchLevels(ws, "X"), w = FetchLevels(ws, "W");
  std::vector<int> expected;
  EXPECT_EQ(FetchInt8(ws, "Y").t.sizes(), (std::vector<int64_t>{kRows, kOut}));
  for (int64_t i = 0; i < kRows * kOut; ++i) {
    int64_t sum = FetchInt8(ws, "B").t.data<int32_t>()[i % kOut];
    for (int64_t k = 0; k < kIn; ++k) {
      sum += (x[i / kOut * kIn + k] - 45) * (w[i % kOut * kIn + k] - 210);
    }
    const double unit = static_cast<double>(0.1f) * 0.2f / 12;
    expected.push_back(ReferenceLevel(std::rint(static_cast<double>(sum) * unit), 1, 128));
  }
  EXPECT_EQ(FetchLevels(ws, "Y"), expected);
  FeedRandomLevels(&ws, "X", {0, kIn}, 1, 0.1f, 45);
  RunOp(&ws, Op("Int8FC", {"X", "W", "B"}, {"Y"}));
  EXPECT_EQ(FetchInt8(ws, "Y").t.sizes(), (std::vector<int64_t>{0, kOut}));
}

// Bytes at both ends of their range, where 16 bits are too few for a sum of two products.
TEST(Int8FactorTest, ExtremesDoNotSaturate) {
  constexpr int64_t kM = 3, kN = 5, kK = 64;
  for (const int b_value : {0, 255}) {
    const std::vector<uint8_t> a(kM * kK, 255), b(kK * kN, static_cast<uint8_t>(b_value));
    for (const int zero : {0, 100, 255}) {
      std::vector<int32_t> c(kM * kN, -1);
      const Int8Factor factor(false, kN, kK, b.data(), static_cast<uint8_t>(zero));
      factor.Multiply(kM, a.data(), kK, 0, nullptr, c.data(), kN);
      for (const int32_t sum : c) EXPECT_EQ(sum, 255 * (b_value - zero) * kK);
    }
  }
}

}  // namespace
}  // namespace caffe2::testing
