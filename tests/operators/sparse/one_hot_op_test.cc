#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(OneHotOpTest, MarksColumns) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<int64_t>(&ws, "n", {1}, {3});
  RunOp(&ws, Op("OneHot", {"i", "n"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 3}, {0, 0, 1, 1, 0, 0});
  Feed<int64_t>(&ws, "n", {1}, {2});
  ExpectThrows(&ws, Op("OneHot", {"i", "n"}, {"Y"}), "out of range");
}

}  // namespace
}  // namespace caffe2::testing
