#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(UniqueOpTest, SortsAndRemaps) {
  Workspace ws;
  Feed<int64_t>(&ws, "X", {5}, {7, -1, 7, 3, -1});
  RunOp(&ws, Op("Unique", {"X"}, {"Y", "map"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{-1, 3, 7}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "map"), (std::vector<int32_t>{2, 0, 2, 1, 0}));
  // How many there are of one or none is known before.
  Feed<int32_t>(&ws, "X", {1}, {4});
  RunOp(&ws, Op("Unique", {"X"}, {"Y", "map"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{4}));
  Feed<int32_t>(&ws, "X", {0}, {});
  RunOp(&ws, Op("Unique", {"X"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").numel(), 0);
}

}  // namespace
}  // namespace caffe2::testing
