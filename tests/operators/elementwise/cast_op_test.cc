#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

Argument To(TensorProto::DataType type) { return MakeArgument("to", static_cast<int>(type)); }

TEST(CastOpTest, ConvertsNumbers) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {1.7f, -1.7f, 300.f, -1e20f, std::nanf("")});
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::INT32)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{1, -1, 300, INT32_MIN, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::UINT8)}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{1, 0, 255, 0, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {MakeArgument("to", std::string("int64"))}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{1, -1, 300, INT64_MIN, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"half"}, {To(TensorProto::FLOAT16)}));
  EXPECT_EQ(FetchValues<float16>(ws, "half")[2], ToFloat16(300.f));
  RunOp(&ws, Op("Cast", {"half"}, {"Y"}, {To(TensorProto::BFLOAT16)}));
  EXPECT_EQ(FetchValues<bfloat16>(ws, "Y")[0], ToBFloat16(ToFloat(ToFloat16(1.7f))));

  Feed<uint8_t>(&ws, "bytes", {3}, {0, 128, 255});
  RunOp(&ws, Op("Cast", {"bytes"}, {"Y"}, {To(TensorProto::FLOAT)}));
  ExpectTensor(ws, "Y", {3}, {0, 128, 255});
  RunOp(&ws, Op("Cast", {"bytes"}, {"flags"}, {To(TensorProto::BOOL)}));
  RunOp(&ws, Op("Cast", {"flags"}, {"Y"}, {To(TensorProto::DOUBLE)}));
  EXPECT_EQ(FetchValues<double>(ws, "Y"), (std::vector<double>{0, 1, 1}));
  RunOp(&ws, Op("Cast", {"bytes"}, {"Y"}, {To(TensorProto::INT8)}));
  EXPECT_EQ(FetchValues<int8_t>(ws, "Y"), (std::vector<int8_t>{0, -128, -1}));
}

TEST(CastOpTest, WritesNumbersAsText) {
  if (TestsCuda()) GTEST_SKIP() << "text exists in host memory only";
  using Strings = std::vector<std::string>;
  Workspace ws;
  const OperatorDef op = Op("Cast", {"X"}, {"Y"}, {To(TensorProto::STRING)});
  Feed<int64_t>(&ws, "X", {2}, {-7, int64_t{1} << 40});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"-7", "1099511627776"}));
  Feed<uint8_t>(&ws, "X", {1}, {65});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), Strings{"65"});
  Feed<float>(&ws, "X", {2}, {0.5f, -2});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"0.500000", "-2.000000"}));
  Feed<std::string>(&ws, "X", {1}, {"1"});
  ExpectThrows(&ws, op, "cannot cast");
}

TEST(CastOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {3}, 1);
  Feed<std::string>(&ws, "text", {1}, {"1"});
  const auto from = MakeArgument("from_type", std::string("float"));
  CheckGradient(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::FLOAT), from}), {0});
  ExpectThrows(&ws, Op("Cast", {"text"}, {"Y"}, {To(TensorProto::FLOAT)}), "cannot cast");
  GradientWrapper dense;
  dense.dense = "dY";
  EXPECT_THROW(GetGradientForOp(Op("Cast", {"X"}, {"Y"}), {dense}), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
