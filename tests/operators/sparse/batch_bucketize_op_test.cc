#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BatchBucketizeTest, CountsBoundariesBelow) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 3}, {1, 9, 5, 2, 9, 6, 3, 9, 0});
  Feed<int32_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "b", {3}, {5, 1, 2});
  Feed<int32_t>(&ws, "n", {2}, {1, 2});
  const OperatorDef op = Op("BatchBucketize", {"X", "i", "b", "n"}, {"Y"});
  RunOp(&ws, op);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{3, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{0, 0, 1, 1, 0, 2}));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {1, 3}, {nan, 9, 5.5f});  // below all
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 0}));
  Feed<float>(&ws, "b", {3}, {5, 2, 1});
  ExpectThrows(&ws, op, "boundaries of feature 1 must be sorted");
  Feed<int32_t>(&ws, "n", {3}, {1, 1, 1});
  ExpectThrows(&ws, op, "one length for each of the");
  Feed<int32_t>(&ws, "i", {2}, {3, 0});
  ExpectThrows(&ws, op, "index 3");
}

}  // namespace
}  // namespace caffe2::testing
