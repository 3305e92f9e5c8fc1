#include "tests/operators/op_test.h"
#include "tests/operators/quantized/int8_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(Int8Test, QuantizeRoundsTiesToEvenAndCuts) {
  Feed<float>(&ws_, "a", {8}, {0, 0.25f, 0.75f, -0.25f, -0.3f, 1000, -1000, NAN});
  RunOp(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 0.5f, 3)));
  EXPECT_EQ(FetchLevels(ws_, "Q"), (std::vector<int>{3, 3, 5, 3, 2, 255, 0, 0}));
  EXPECT_EQ(FetchInt8(ws_, "Q").scale, 0.5f);
  EXPECT_EQ(FetchInt8(ws_, "Q").zero_point, 3);
  RunOp(&ws_, Op("Int8Dequantize", {"Q"}, {"b"}));
  ExpectTensor(ws_, "b", {8}, {0, 0, 1, 0, -0.5f, 126, -1.5f, -1.5f}, 0, 0);
  RunOp(&ws_, Op("Int8Quantize", {"a"}, {"Q"}));  // scale 1, zero point 0
  EXPECT_EQ(FetchLevels(ws_, "Q"), (std::vector<int>{0, 0, 1, 0, 0, 255, 0, 0}));
  ExpectThrows(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 0, 3)),
               "a scale must be positive and finite, found 0");
  ExpectThrows(&ws_, Op("Int8Quantize", {"a"}, {"Q"}, WithScale({}, 1, 256)),
               "a zero point must be from 0 to 255, found 256");
}

TEST_F(Int8Test, DequantizesBiases) {
  FeedInt8<int32_t>(&ws_, "B", {3}, {-5, 0, 1000000}, 0.5f, 1);
  RunOp(&ws_, Op("Int8Dequantize", {"B"}, {"b"}));
  ExpectTensor(ws_, "b", {3}, {-3, -0.5f, 499999.5f}, 0, 0);
}

TEST_F(Int8Test, GivenValues) {
  const std::vector<Argument> shape =
      WithScale({MakeArgument("shape", std::vector<int>{2, 2})}, kInt8Scale, kInt8Zero);
  auto bytes = shape, numbers = shape;
  bytes.push_back(MakeArgument("values", std::string("\x00\x01\x7f\xff", 4)));
  RunOp(&ws_, Op("Int8GivenTensorFill", {}, {"Y"}, bytes));
  EXPECT_EQ(FetchLevels(ws_, "Y"), (std::vector<int>{0, 1, 127, 255}));
  EXPECT_EQ(FetchInt8(ws_, "Y").zero_point, kInt8Zero);
  numbers.push_back(MakeArgument("values", std::vector<int>{-1, 2, 1 << 30, -7}));
  RunOp(&ws_, Op("Int8GivenIntTensorFill", {}, {"Y"}, numbers));
  EXPECT_EQ(FetchLevels<int32_t>(ws_, "Y"), (Ints{-1, 2, 1 << 30, -7}));
  EXPECT_EQ(FetchInt8(ws_, "Y").scale, kInt8Scale);
  numbers.back() = MakeArgument("values", std::vector<int>{1});
  ExpectThrows(&ws_, Op("Int8GivenIntTensorFill", {}, {"Y"}, numbers), "[2, 2]");
}

}  // namespace
}  // namespace caffe2::testing
