#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BatchOneHotTest, MarksValues) {
  Workspace ws;
  Feed<int32_t>(&ws, "n", {2}, {2, 1});
  Feed<int64_t>(&ws, "i", {3}, {4, 0, 4});
  Feed<int64_t>(&ws, "size", {1}, {5});
  RunOp(&ws, Op("SegmentOneHot", {"n", "i", "size"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 5}, {1, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  Feed<int32_t>(&ws, "X", {2, 2}, {10, 5, 20, 6});
  Feed<int32_t>(&ws, "v", {3}, {10, 20, 6});
  RunOp(&ws, Op("BatchOneHot", {"X", "n", "v"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{2, 3}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (Ints{1, 0, 0, 0, 1, 1}));
  Feed<float>(&ws, "F", {2, 2}, {0.1f, 5, 2, 1});
  Feed<float>(&ws, "b", {3}, {0.1f, 1, 3});
  RunOp(&ws, Op("BatchBucketOneHot", {"F", "n", "b"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 5}, {1, 0, 0, 0, 1, 0, 0, 1, 1, 0});
  // Three equal boundaries: their value lies between them.
  Feed<float>(&ws, "F1", {4, 1}, {-1, 0, 1, 2});
  Feed<float>(&ws, "b1", {4}, {0, 0, 0, 1});
  Feed<int32_t>(&ws, "n1", {1}, {4});
  RunOp(&ws, Op("BatchBucketOneHot", {"F1", "n1", "b1"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 5}, {1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1});
  Feed<int64_t>(&ws, "size", {1}, {4});
  ExpectThrows(&ws, Op("SegmentOneHot", {"n", "i", "size"}, {"Y"}), "index 4");
  Feed<int32_t>(&ws, "n", {1}, {3});
  ExpectThrows(&ws, Op("BatchOneHot", {"X", "n", "v"}, {"Y"}), "one length for each column of X");
  ExpectThrows(&ws, Op("BatchBucketOneHot", {"F", "n", "b"}, {"Y"}),
               "one length for each column of X");
}

}  // namespace
}  // namespace caffe2::testing
