#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(StringOpTest, TakeTextApart) {
  Workspace ws;
  Feed<std::string>(&ws, "S", {3}, {"abcd", "xy", ""});
  const auto strings = [&ws](const char* type, const std::vector<Argument>& args) {
    RunOp(&ws, Op(type, {"S"}, {"Y"}, args));
    return FetchValues<std::string>(ws, "Y");
  };
  const auto bools = [&ws](const char* type, const Argument& arg) {
    RunOp(&ws, Op(type, {"S"}, {"Y"}, {arg}));
    return FetchValues<bool>(ws, "Y");
  };
  EXPECT_EQ(strings("StringPrefix", {}), (Strings{"abc", "xy", ""}));
  EXPECT_EQ(strings("StringSuffix", {MakeArgument("length", 1)}), (Strings{"d", "y", ""}));
  EXPECT_EQ(bools("StringStartsWith", MakeArgument<std::string>("prefix", "ab")),
            (std::vector<bool>{true, false, false}));
  EXPECT_EQ(bools("StringEndsWith", MakeArgument<std::string>("suffix", "y")),
            (std::vector<bool>{false, true, false}));
  EXPECT_EQ(bools("StringEquals", MakeArgument<std::string>("text", "xy")),
            (std::vector<bool>{false, true, false}));
  ExpectThrows(&ws, Op("StringPrefix", {"S"}, {"Y"}, {MakeArgument("length", -1)}), "length");
  Feed<int32_t>(&ws, "I", {2, 2}, {1, 2, 3, 4});
  ExpectThrows(&ws, Op("StringPrefix", {"I"}, {"Y"}), "int");

  RunOp(&ws, Op("StringJoin", {"S"}, {"Y"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"abcd,", "xy,", ","}));
  RunOp(&ws, Op("StringJoin", {"I"}, {"Y"}, {MakeArgument<std::string>("delimiter", "; ")}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"1; 2; ", "3; 4; "}));
  RunOp(&ws, Op("StringJoin", {"I"}, {"Y"}, {MakeArgument("axis", 1)}));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"1,3,", "2,4,"}));
  ExpectThrows(&ws, Op("StringJoin", {"S"}, {"Y"}, {MakeArgument("axis", 1)}), "no axis 1");
}

}  // namespace
}  // namespace caffe2::testing
