#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

template <typename T>
void ExpectConstant(TensorProto::DataType type, const Argument& value, const T& expected) {
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{2}),
                 MakeArgument("dtype", static_cast<int>(type)), value}));
  const std::vector<T> wanted(2, expected);
  EXPECT_EQ(FetchValues<T>(ws, "Y"), wanted) << TensorProto::DataType_Name(type);
}

TEST(FillerOpTest, ConstantFillOfEveryType) {
  ExpectConstant<float>(TensorProto::FLOAT, MakeArgument("value", 3), 3.f);
  ExpectConstant<double>(TensorProto::DOUBLE, MakeArgument("value", 0.5f), 0.5);
  ExpectConstant<float16>(TensorProto::FLOAT16, MakeArgument("value", 0.5f), ToFloat16(0.5f));
  ExpectConstant<bfloat16>(TensorProto::BFLOAT16, MakeArgument("value", 0.5f), ToBFloat16(0.5f));
  ExpectConstant<int8_t>(TensorProto::INT8, MakeArgument("value", -3), -3);
  ExpectConstant<int16_t>(TensorProto::INT16, MakeArgument("value", -300), -300);
  ExpectConstant<int32_t>(TensorProto::INT32, MakeArgument("value", -3), -3);
  ExpectConstant<int64_t>(TensorProto::INT64, MakeArgument("value", int64_t{1} << 40),
                          int64_t{1} << 40);
  ExpectConstant<uint8_t>(TensorProto::UINT8, MakeArgument("value", 255), 255);
  ExpectConstant<uint16_t>(TensorProto::UINT16, MakeArgument("value", 65535), 65535);
  ExpectConstant<std::string>(TensorProto::STRING, MakeArgument("value", std::string("text")),
                              "text");
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", true),
                 MakeArgument("dtype", std::string("bool"))}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), Flags{true});
  // Without dtype an integer value makes int64.
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", 5)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), Longs{5});
}

TEST(FillerOpTest, ConstantFillRefusesBadValues) {
  Workspace ws;
  const auto dtype = [](int type) { return MakeArgument("dtype", type); };
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {dtype(99)}),
               "argument dtype must be a data type, found ");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {dtype(TensorProto::UNDEFINED)}),
               "argument dtype must be a data type, found ");
  ExpectThrows(
      &ws, Op("ConstantFill", {}, {"Y"}, {dtype(TensorProto::UINT8), MakeArgument("value", 256)}),
      "argument value must be from 0 to 255, found 256");
  ExpectThrows(&ws,
               Op("ConstantFill", {}, {"Y"},
                  {MakeArgument("dtype", std::string("floaty")), MakeArgument("value", 256)}),
               "argument dtype must be a data type, found ");
}

TEST(FillerOpTest, ConstantMayComeFromAnInput) {
  Workspace ws;
  Feed<float>(&ws, "like", {2, 1}, {0, 0});
  Feed<int32_t>(&ws, "v", {1}, {7});
  const auto type = MakeArgument("dtype", static_cast<int>(TensorProto::INT32));
  RunOp(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{7, 7}));
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}), "one element of float");
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type, MakeArgument("value", 1)}),
               "the argument value and input 1 cannot be used together");
  Feed<int32_t>(&ws, "v", {2}, {7, 8});
  ExpectThrows(&ws, Op("ConstantFill", {"like", "v"}, {"Y"}, {type}), "one element of int");
}

}  // namespace
}  // namespace caffe2::testing
