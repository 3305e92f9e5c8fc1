#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SpaceToBatchTest, TakesBlocksApart) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  RunOp(&ws, Op("SpaceToBatch", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 1, 1, 2}, {1, 3, 2, 4, 5, 7, 6, 8}, 0, 0);
  RunOp(&ws, Op("BatchToSpace", {"Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {1, 1, 2, 4}, FetchValues<float>(ws, "X"), 0, 0);
  // Pads above and to the left.
  const std::vector<Argument> padded{MakeArgument("block_size", 3), MakeArgument("pad_t", 1),
                                     MakeArgument("pad_l", 2)};
  RunOp(&ws, Op("SpaceToBatch", {"X"}, {"Y"}, padded));
  ExpectTensor(ws, "Y", {9, 1, 1, 2}, {0, 0, 0, 0, 0, 0, 0, 2, 0, 3, 1, 4, 0, 6, 0, 7, 5, 8}, 0, 0);
  RunOp(&ws, Op("BatchToSpace", {"Y"}, {"Z"}, padded));
  ExpectTensor(ws, "Z", {1, 1, 2, 4}, FetchValues<float>(ws, "X"), 0, 0);
  FeedRandom(&ws, "X", {2, 3, 4, 2}, 1);
  CheckGradient(&ws, Op("SpaceToBatch", {"X"}, {"Y"}), {0});
  FeedRandom(&ws, "X", {8, 3, 2, 1}, 1);
  CheckGradient(&ws, Op("BatchToSpace", {"X"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("SpaceToBatch", {"X"}, {"Y"}), "cannot be divided by 2");
  ExpectThrows(&ws, Op("BatchToSpace", {"X"}, {"Y"}, {padded[0]}), "must be a multiple of 9");
  ExpectThrows(&ws, Op("BatchToSpace", {"X"}, {"Y"}, {MakeArgument("pad", 9)}), "pads");
}

}  // namespace
}  // namespace caffe2::testing
