#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ScatterAssignTest, WritesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "S", {2, 2}, {10, 20, 30, 40});
  RunOp(&ws, Op("ScatterAssign", {"X", "i", "S"}, {"X"}));
  ExpectTensor(ws, "X", {3, 2}, {30, 40, 3, 4, 10, 20});
  Feed<std::string>(&ws, "T", {2}, {"a", "b"});
  Feed<std::string>(&ws, "U", {1}, {"c"});
  Feed<int32_t>(&ws, "one", {1}, {1});
  RunOp(&ws, Op("ScatterAssign", {"T", "one", "U"}, {"T"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "T"), (std::vector<std::string>{"a", "c"}));
  ExpectThrows(&ws, Op("ScatterAssign", {"X", "one", "U"}, {"X"}), "one element type");
  ExpectThrows(&ws, Op("ScatterAssign", {"X", "one", "S"}, {"X"}), "must hold 1 rows");
}

}  // namespace
}  // namespace caffe2::testing
