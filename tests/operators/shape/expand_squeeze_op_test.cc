#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

Argument Dims(std::vector<int> dims) { return MakeArgument("dims", dims); }

TEST(ExpandSqueezeOpTest, ShapesAndGradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 1, 3}, 1);
  const auto values = FetchValues<float>(ws, "X");
  const auto expect = [&](const OperatorDef& op, Shape shape) {
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", shape, values);
    CheckGradient(&ws, op, {0});
  };
  expect(Op("ExpandDims", {"X"}, {"Y"}, {Dims({3, 0, 5})}), {1, 4, 1, 1, 3, 1});
  expect(Op("Squeeze", {"X"}, {"Y"}, {Dims({1})}), {4, 3});
  expect(Op("PrependDim", {"X"}, {"Y"}, {MakeArgument("dim_size", 2)}), {2, 2, 1, 3});
  expect(Op("MergeDim", {"X"}, {"Y"}), {4, 3});
  RunOp(&ws, Op("ExpandDims", {"X"}, {"X"}, {Dims({0})}));
  ExpectTensor(ws, "X", {1, 4, 1, 3}, values);
}

TEST(ExpandSqueezeOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1);
  ExpectThrows(&ws, Op("ExpandDims", {"X"}, {"Y"}, {Dims({4})}), "gap");
  ExpectThrows(&ws, Op("ExpandDims", {"X"}, {"Y"}, {Dims({-1})}), "negative");
  ExpectThrows(&ws, Op("Squeeze", {"X"}, {"Y"}, {Dims({0})}), "is not 1");
  ExpectThrows(&ws, Op("Squeeze", {"X"}, {"Y"}, {Dims({2})}), "is not 1");
  ExpectThrows(&ws, Op("PrependDim", {"X"}, {"Y"}, {MakeArgument("dim_size", 3)}), "multiple");
  ExpectThrows(&ws, Op("PrependDim", {"X"}, {"Y"}), "positive");
  FeedRandom(&ws, "flat", {4}, 1);
  ExpectThrows(&ws, Op("MergeDim", {"flat"}, {"Y"}),
               "MergeDim needs at least two axes, found shape [4]");
}

}  // namespace
}  // namespace caffe2::testing
