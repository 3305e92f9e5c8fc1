#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FullyConnectedSparseTest, IsTheProductWithTheWholeWeight) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 4}, 1);
  const std::vector<float> whole{0, 2, 0, -1, 0, 0, 0, 0, 3, 0, 0, 4};
  Feed(&ws, "W", {3, 4}, whole);
  FeedRandom(&ws, "b", {3}, 2);
  Feed<float>(&ws, "w", {4}, {2, -1, 3, 4});
  Feed<int32_t>(&ws, "iw", {4}, {0, 2, 2, 4});
  Feed<int32_t>(&ws, "jw", {4}, {1, 3, 0, 3});
  const OperatorDef op = Op("FC_Sparse", {"X", "w", "iw", "jw", "b"}, {"Y"});
  RunOp(&ws, op);
  RunOp(&ws, Op("FC", {"X", "W", "b"}, {"Z"}));
  ExpectTensor(ws, "Y", {5, 3}, FetchValues<float>(ws, "Z"));
  Feed<int32_t>(&ws, "iw", {4}, {0, 3, 2, 4});
  ExpectThrows(&ws, op, "iw must ascend");
  Feed<int32_t>(&ws, "iw", {3}, {0, 2, 4});
  ExpectThrows(&ws, op, "iw must ascend");
  Feed<int32_t>(&ws, "iw", {4}, {0, 2, 2, 4});
  Feed<int32_t>(&ws, "jw", {4}, {1, 4, 0, 3});
  ExpectThrows(&ws, op, "index 4");
}

}  // namespace
}  // namespace caffe2::testing
