#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef Quantize(int bits, bool random) {
  OperatorDef def = Op("FloatToFusedRandRowwiseQuantized", {"X"}, {"Q"},
                       {MakeArgument("bitwidth", bits), MakeArgument<int>("random", random)});
  def.mutable_device_option()->set_random_seed(7);
  return def;
}

TEST(RandQuantizationTest, PacksElementsOfOneByteFarApart) {
  Workspace ws;
  // Five elements of two bits: bytes 0 and 1 hold elements 0, 2, 4 and 1, 3.
  Feed<float>(&ws, "X", {1, 5}, {0, 1, 2, 3, 3});
  RunOp(&ws, Quantize(2, false));
  const auto q = FetchValues<uint8_t>(ws, "Q");
  ASSERT_EQ(q.size(), 12u);
  EXPECT_EQ(q[0], 2);
  EXPECT_EQ(q[1], 3);
  EXPECT_EQ(q[10], 0 | 2 << 2 | 3 << 4);
  EXPECT_EQ(q[11], 1 | 3 << 2);
  RunOp(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 5}, {0, 1, 2, 3, 3}, 1e-6f);
}

TEST(RandQuantizationTest, IsAtMostAStepOff) {
  Workspace ws;
  constexpr int kRows = 3, kColumns = 13;
  FeedRandom(&ws, "X", {kRows, kColumns}, 1, -3, 5);
  const auto x = FetchValues<float>(ws, "X");
  for (const int bits : {1, 2, 4, 8}) {
    for (const bool random : {false, true}) {
      RunOp(&ws, Quantize(bits, random));
      RunOp(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
      const auto y = FetchValues<float>(ws, "Y");
      ASSERT_EQ(y.size(), x.size());
      for (int i = 0; i < kRows; ++i) {
        const auto row = x.begin() + i * kColumns;
        const auto [min, max] = std::minmax_element(row, row + kColumns);
        const float step = (*max - *min) / static_cast<float>((1 << bits) - 1);
        const float bound = (random ? 1.f : 0.5f) * step + 1e-5f;
        for (int j = i * kColumns; j < (i + 1) * kColumns; ++j) {
          EXPECT_LE(std::abs(x[j] - y[j]), bound) << bits << " bits, element " << j;
        }
      }
    }
  }
}

TEST(RandQuantizationTest, KeepsTheMean) {
  Workspace ws;
  constexpr int kColumns = 20000;
  std::vector<float> x(kColumns, 0.3f);
  x.front() = 0;
  x.back() = 1;
  Feed(&ws, "X", {1, kColumns}, x);
  RunOp(&ws, Quantize(1, true));
  RunOp(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
  const auto y = FetchValues<float>(ws, "Y");
  double sum = 0;
  for (const float value : y) sum += value;
  EXPECT_NEAR(sum / kColumns, 0.3, 0.015);  // five standard deviations
  RunOp(&ws, Quantize(1, false));
  RunOp(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
  EXPECT_EQ(FetchValues<float>(ws, "Y")[1], 0);
}

TEST(RandQuantizationTest, EqualElementsAndBadInput) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {7, 7});
  RunOp(&ws, Quantize(4, true));
  RunOp(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 2}, {7, 7}, 1e-6f);
  ExpectThrows(&ws, Quantize(3, true), "argument bitwidth must be 1, 2, 4 or 8, found 3");
  Feed<float>(&ws, "X", {1, 2}, {INFINITY, 7});
  ExpectThrows(&ws, Quantize(4, true), "inf");
  Feed<float>(&ws, "X", {1, 3}, {6, NAN, 7});
  ExpectThrows(&ws, Quantize(4, true), "element 1 of a row is ");
  Feed<uint8_t>(&ws, "Q", {1, 11}, {5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  ExpectThrows(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}),
               "must be 1, 2, 4 or 8, found 5");
  Feed<uint8_t>(&ws, "Q", {1, 11}, {8, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0});
  ExpectThrows(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}), "unused");
  Feed<uint8_t>(&ws, "Q", {1, 3}, {8, 0, 0});
  ExpectThrows(&ws, Op("FusedRandRowwiseQuantizedToFloat", {"Q"}, {"Y"}), "more than 10");
}

}  // namespace
}  // namespace caffe2::testing
