#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PackRNNSequenceTest, MakesColumns) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 2}, 1);
  Feed<int32_t>(&ws, "n", {3}, {1, 3, 1});
  const auto x = FetchValues<float>(ws, "X");
  const OperatorDef pack = Op("PackRNNSequence", {"X", "n"}, {"P"});
  RunOp(&ws, pack, true);
  ExpectTensor(
      ws, "P", {3, 3, 2},
      {x[0], x[1], x[2], x[3], x[8], x[9], 0, 0, x[4], x[5], 0, 0, 0, 0, x[6], x[7], 0, 0});
  RunOp(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {5, 2}, x, 0, 0);
  CheckGradient(&ws, pack, {0});
  CheckGradient(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}), {0});
  Feed<int32_t>(&ws, "n", {3}, {1, 4, 0});
  ExpectThrows(&ws, Op("UnpackRNNSequence", {"P", "n"}, {"Y"}),
               "the length of sequence 1 must be ");
  Feed<int32_t>(&ws, "n", {2}, {1, 3});
  ExpectThrows(&ws, pack, "lengths must add up to the");
}

}  // namespace
}  // namespace caffe2::testing
