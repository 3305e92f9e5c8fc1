#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, Pools) {
  const std::vector<Argument> window{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("kernel", 3), MakeArgument("stride", 2),
                                     MakeArgument("pad", 1)};
  ExpectSame(Op("Int8MaxPool", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window), 0);
  ExpectSame(Op("Int8MaxPoolRelu", {"X"}, {"Y"}, Kept(window)), Op("MaxPool", {"x"}, {"y"}, window),
             0, kInt8Zero);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, Kept(window)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, WithScale(window, 0.1f, 50)),
             Op("AveragePool", {"x"}, {"y"}, window), 1);
  auto whole = window;
  whole.push_back(MakeArgument("count_include_pad", 1));
  ExpectSame(Op("Int8AveragePoolRelu", {"X"}, {"Y"}, Kept(whole)),
             Op("AveragePool", {"x"}, {"y"}, whole), 1, kInt8Zero);
  const std::vector<Argument> global{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("global_pooling", 1)};
  ExpectSame(Op("Int8AveragePool", {"X"}, {"Y"}, global), Op("AveragePool", {"x"}, {"y"}, global),
             1);
  auto floats = global;
  floats.push_back(MakeArgument("dequantize_output", 1));
  RunOp(&ws_, Op("Int8AveragePool", {"X"}, {"floats"}, floats));
  RunOp(&ws_, Op("AveragePool", {"x"}, {"y"}, global));
  ExpectTensor(ws_, "floats", {2, 1, 1, 4}, FetchValues<float>(ws_, "y"));
  ExpectThrows(&ws_, Op("Int8MaxPool", {"X"}, {"Y"}, {MakeArgument("kernel", 2)}), "NHWC only");
}

// The largest level under each window, by plain loops; channels fill no, one or several vectors.
TEST_F(Int8Test, LargestLevelsOfAnyNumberOfChannels) {
  constexpr int64_t kHeight = 7, kWidth = 5, kKernel = 3, kStride = 2, kPad = 1;
  constexpr int64_t kRows = 4, kColumns = 3;
  for (const int64_t channels : {1, 3, 31, 63, 64, 65, 128, 200}) {
    FeedRandomLevels(&ws_, "wide", {2, kHeight, kWidth, channels}, 3, 0.5f, 9);
    RunOp(&ws_, Op("Int8MaxPool", {"wide"}, {"Y"},
                   WithScale({MakeArgument("order", std::string("NHWC")),
                              MakeArgument("kernel", static_cast<int>(kKernel)),
                              MakeArgument("stride", static_cast<int>(kStride)),
                              MakeArgument("pad", static_cast<int>(kPad))},
                             0.5f, 9)));
    const auto x = FetchLevels(ws_, "wide"), y = FetchLevels(ws_, "Y");
    ASSERT_EQ(y.size(), 2 * kRows * kColumns * channels);
    for (int64_t i = 0; i < static_cast<int64_t>(y.size()); ++i) {
      const int64_t pixel = i / channels, row = pixel / kColumns % kRows * kStride - kPad;
      const int64_t column = pixel % kColumns * kStride - kPad;
      int most = 0;
      for (int64_t h = std::max<int64_t>(0, row); h < std::min(kHeight, row + kKernel); ++h) {
        for (int64_t w = std::max<int64_t>(0, column); w < std::min(kWidth, column + kKernel);
             ++w) {
          const int64_t image = pixel / (kRows * kColumns);
          most = std::max(most, x[((image * kHeight + h) * kWidth + w) * channels + i % channels]);
        }
      }
      ASSERT_EQ(y[i], most) << channels << " channels, element " << i;
    }
  }
}

// Global means, by plain loops; channels fill no, one or several parts.
TEST_F(Int8Test, MeansOfAnyNumberOfChannels) {
  constexpr int64_t kImages = 2, kPixels = 15;
  constexpr int kZero = 9;
  const std::vector<Argument> global{MakeArgument("order", std::string("NHWC")),
                                     MakeArgument("global_pooling", 1)};
  auto floats = global;
  floats.push_back(MakeArgument("dequantize_output", 1));
  for (const int64_t channels : {255, 256, 257, 600}) {
    FeedRandomLevels(&ws_, "wide", {kImages, 5, 3, channels}, 3, 0.5f, kZero);
    RunOp(&ws_, Op("Int8AveragePool", {"wide"}, {"Y"}, WithScale(global, 0.5f, kZero)));
    RunOp(&ws_, Op("Int8AveragePool", {"wide"}, {"floats"}, floats));
    const auto x = FetchLevels(ws_, "wide"), y = FetchLevels(ws_, "Y");
    const auto means = FetchValues<float>(ws_, "floats");
    ASSERT_EQ(y.size(), kImages * channels);
    ASSERT_EQ(means.size(), y.size());
    for (int64_t i = 0; i < kImages * channels; ++i) {
      int64_t sum = 0;
      for (int64_t pixel = 0; pixel < kPixels; ++pixel) {
        sum += x[(i / channels * kPixels + pixel) * channels + i % channels];
      }
      const double mean = static_cast<double>(sum) / kPixels;
      ASSERT_NEAR(means[i], 0.5 * (mean - kZero), 1e-5) << channels << " channels, element " << i;
      ASSERT_NEAR(y[i], mean, 0.5 + 1e-6) << channels << " channels, element " << i;
    }
  }
}

}  // namespace
}  // namespace caffe2::testing
