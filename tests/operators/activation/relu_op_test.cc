#include <cmath>
#include <limits>
#include <optional>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ReluTest, ClipsNegativeValues) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {-1, 0, 2, 3, -4, 0.5f});
  RunOp(&ws, Op("Relu", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {0, 0, 2, 3, 0, 0.5f});
}

TEST(ReluTest, KeepsNan) {
  Workspace ws;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {2}, {nan, -1});
  RunOp(&ws, Op("Relu", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {nan, 0});
}

// A quiet NaN of each sign (x86 gives the one of inf - inf a sign), the largest and the smallest
// bits of NaN, then numbers.
template <typename T>
std::vector<T> NansAndNumbers(uint16_t infinity) {
  const auto bits = [infinity](unsigned more) { return T{static_cast<uint16_t>(infinity | more)}; };
  return {bits(0x0040), bits(0x8040), bits(0xffff), bits(0x8001), bits(0),
          bits(0x8000), T{0x0001},    T{0x8001},    T{0x8000},    T{0}};
}

// The numbers with one value for all NaN: devices may set a bit of a NaN.
template <typename T>
std::vector<std::optional<float>> NumbersOf(const std::vector<T>& values) {
  std::vector<std::optional<float>> numbers;
  for (const T value : values) {
    const float number = ToFloat(value);
    numbers.push_back(std::isnan(number) ? std::nullopt : std::optional(number));
  }
  return numbers;
}

template <typename T>
void ExpectReluOfBits(uint16_t infinity) {
  Workspace ws;
  const std::vector<T> x = NansAndNumbers<T>(infinity);
  const int64_t n = static_cast<int64_t>(x.size());
  Feed<T>(&ws, "X", {n}, x);
  Feed<T>(&ws, "dY", {n}, std::vector<T>(x.size(), T{0x4040}));
  RunOp(&ws, Op("Relu", {"X"}, {"Y"}));
  RunOp(&ws, Op("ReluGradient", {"X", "dY"}, {"dX"}));
  std::vector<T> expected = x, gradient = x;
  for (size_t i = 0; i < x.size(); ++i) {
    const float number = ToFloat(x[i]);
    if (number <= 0) expected[i] = T{0};
    gradient[i] = T{static_cast<uint16_t>(number > 0 ? 0x4040 : 0)};
  }
  EXPECT_EQ(NumbersOf(FetchValues<T>(ws, "Y")), NumbersOf(expected));
  EXPECT_EQ(NumbersOf(FetchValues<T>(ws, "dX")), NumbersOf(gradient));
}

TEST(ReluTest, KeepsNanOfEachSignIn16Bits) {
  ExpectReluOfBits<bfloat16>(0x7f80);
  ExpectReluOfBits<float16>(0x7c00);
}

TEST(ReluTest, WorksInPlaceAndOnManyElements) {
  Workspace ws;
  const int64_t n = 200003;  // several parts and a tail
  const std::vector<float> x = RandomValues(n, 1);
  std::vector<float> expected = x;
  for (float& value : expected) value = std::max(value, 0.f);
  Feed(&ws, "X", {n}, x);
  RunOp(&ws, Op("Relu", {"X"}, {"X"}));
  ExpectTensor(ws, "X", {n}, expected, 0, 0);
}

TEST(ReluTest, TakesOtherTypes) {
  Workspace ws;
  Feed<int>(&ws, "I", {3}, {-3, 0, 4});
  RunOp(&ws, Op("Relu", {"I"}, {"IY"}));
  EXPECT_EQ(FetchValues<int>(ws, "IY"), (std::vector<int>{0, 0, 4}));

  Feed<bfloat16>(&ws, "B", {2}, {ToBFloat16(-2.5f), ToBFloat16(1.5f)});
  RunOp(&ws, Op("Relu", {"B"}, {"BY"}));
  EXPECT_EQ(FetchValues<bfloat16>(ws, "BY"),
            (std::vector<bfloat16>{ToBFloat16(0), ToBFloat16(1.5f)}));

  Feed<float16>(&ws, "H", {2}, {ToFloat16(-2.5f), ToFloat16(1.5f)});
  Feed<float16>(&ws, "dY", {2}, {ToFloat16(3), ToFloat16(4)});
  RunOp(&ws, Op("ReluGradient", {"H", "dY"}, {"dX"}));
  EXPECT_EQ(FetchValues<float16>(ws, "dX"), (std::vector<float16>{ToFloat16(0), ToFloat16(4)}));
}

TEST(ReluTest, TakesEmptyTensors) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 4}, {});
  RunOp(&ws, Op("Relu", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {0, 4}, {});
}

TEST(ReluTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 5}, 7, -1, 1, 0.1f);
  CheckGradient(&ws, Op("Relu", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Relu", {"X"}, {"X"}), {0});
}

TEST(ReluTest, RejectsBadInput) {
  Workspace ws;
  Feed<double>(&ws, "D", {1}, {1.0});
  ExpectThrows(&ws, Op("Relu", {"D"}, {"Y"}), "double");
  Feed<float>(&ws, "Y", {2}, {1, 2});
  Feed<float>(&ws, "dY", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op("ReluGradient", {"Y", "dY"}, {"dX"}), "[3]");
}

}  // namespace
}  // namespace caffe2::testing
