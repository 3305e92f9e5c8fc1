#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FindDuplicateElementsTest, NamesLaterPlaces) {
  Workspace ws;
  Feed<std::string>(&ws, "X", {5}, {"a", "b", "a", "c", "a"});
  RunOp(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), true);
  EXPECT_EQ(FetchValues<int64_t>(ws, "I"), (Longs{2, 4}));
  Feed<int32_t>(&ws, "X", {2}, {1, 2});
  RunOp(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), true);
  EXPECT_EQ(Fetch(ws, "I").sizes(), Longs{0});
  Feed<int32_t>(&ws, "X", {1, 2}, {1, 2});
  ExpectThrows(&ws, Op("FindDuplicateElements", {"X"}, {"I"}), "one-dimensional");
}

}  // namespace
}  // namespace caffe2::testing
