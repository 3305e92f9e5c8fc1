#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(IsMemberOfTest, LooksUpValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  const auto values = MakeArgument("value", std::vector<int>{4, 2, 9});
  RunOp(&ws, Op("IsMemberOf", {"X"}, {"Y"}, {values}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), (Flags{false, true, false, true}));
  Feed<std::string>(&ws, "S", {2}, {"a", "b"});
  Feed<std::string>(&ws, "set", {2}, {"b", "c"});
  RunOp(&ws, Op("IsMemberOf", {"S", "set"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), (Flags{false, true}));
  Feed<bool>(&ws, "B", {2}, {true, false});
  Feed<bool>(&ws, "falses", {3}, {false, false, false});
  RunOp(&ws, Op("IsMemberOf", {"B", "falses"}, {"Y"}));
  EXPECT_EQ(FetchValues<bool>(ws, "Y"), (Flags{false, true}));
  ExpectThrows(&ws, Op("IsMemberOf", {"X", "X"}, {"Y"}, {values}), "either from");
  ExpectThrows(&ws, Op("IsMemberOf", {"X"}, {"Y"}), "either from");
  Feed<float>(&ws, "F", {1}, {1});
  ExpectThrows(&ws, Op("IsMemberOf", {"F", "F"}, {"Y"}), "float");
}

}  // namespace
}  // namespace caffe2::testing
