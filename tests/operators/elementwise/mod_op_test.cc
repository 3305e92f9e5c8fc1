#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ModTest, TakesTheSignAskedFor) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {4}, {7, -7, 6, 0});
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 3)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{1, -1, 0, 0}));
  const auto follow = MakeArgument("sign_follow_divisor", 1);
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 3), follow}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{1, 2, 0, 0}));
  RunOp(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", -3), follow}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Longs{-2, -1, 0, 0}));
  Feed<int64_t>(&ws, "least", {1}, {INT64_MIN});
  RunOp(&ws, Op("Mod", {"least"}, {"Y"}, {MakeArgument("divisor", -1)}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), Longs{0});
  ExpectThrows(&ws, Op("Mod", {"X"}, {"Y"}, {MakeArgument("divisor", 0)}), "divisor");
}

}  // namespace
}  // namespace caffe2::testing
