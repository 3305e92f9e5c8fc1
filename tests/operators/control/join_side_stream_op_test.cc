#include "caffe2/core/net.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(JoinSideStreamTest, LeavesItsBlobsAsTheyAre) {
  Workspace ws;
  Feed(&ws, "dw", {2}, std::vector<float>{1, 2});
  Feed(&ws, "db", {1}, std::vector<float>{3});
  FeedRandom(&ws, "x", {3, 2}, 1);
  RunOp(&ws, Op("JoinSideStream", {"dw", "db", "x"}, {"dw", "db"}));
  ExpectTensor(ws, "dw", {2}, {1, 2});
  ExpectTensor(ws, "db", {1}, {3});
  ExpectThrows(&ws, Op("JoinSideStream", {"dw", "x"}, {"dy"}), "must write output 0 in place");
  ExpectThrows(&ws, Op("JoinSideStream", {"dw"}, {"dw", "db"}), "JoinSideStream");
}

}  // namespace
}  // namespace caffe2::testing
