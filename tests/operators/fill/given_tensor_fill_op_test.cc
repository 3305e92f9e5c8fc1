#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FillerOpTest, GivenTensorFills) {
  Workspace ws;
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> ints = {1, 0, 3, 4, 5, 6};
  RunOp(&ws, Op("GivenTensorFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", floats)}));
  ExpectTensor(ws, "Y", {2, 3}, floats);
  RunOp(&ws, Op("GivenTensorFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", floats),
                 MakeArgument("dtype", static_cast<int>(TensorProto::BFLOAT16))}));
  ExpectNear(FetchValues<bfloat16>(ws, "Y"), floats, 0);
  RunOp(&ws, Op("GivenTensorDoubleFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", floats)}));
  EXPECT_EQ(FetchValues<double>(ws, "Y"), std::vector<double>(floats.begin(), floats.end()));
  RunOp(&ws, Op("GivenTensorIntFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), Ints(ints.begin(), ints.end()));
  RunOp(&ws, Op("GivenTensorInt16Fill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int16_t>(ws, "Y"), std::vector<int16_t>(ints.begin(), ints.end()));
  RunOp(&ws, Op("GivenTensorInt64Fill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), ints);
  RunOp(&ws, Op("GivenTensorBoolFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("values", ints)}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags(ints.begin(), ints.end()));
  const std::vector<std::string> texts = {"a", std::string("\0b", 2)};
  RunOp(&ws, Op("GivenTensorStringFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{2}), MakeArgument("values", texts)}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), texts);
  RunOp(&ws, Op("GivenTensorByteStringToUInt8Fill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{3}),
                 MakeArgument("values", std::vector<std::string>{"\x01\x7f\xff"})}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{1, 127, 255}));
  ExpectThrows(&ws,
               Op("GivenTensorFill", {}, {"Y"},
                  {MakeArgument("shape", std::vector<int64_t>{5}), MakeArgument("values", floats)}),
               "argument values must have 5 values for the shape [5], found 6");
}

}  // namespace
}  // namespace caffe2::testing
