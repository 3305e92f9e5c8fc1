#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(NormalizeTest, DividesByNorms) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {3, 4, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.6f, 0.8f, 0, 0});
  RunOp(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 1, 0, 0});
  Feed<float>(&ws, "X", {2, 2}, {3, -1, 0, 0});
  RunOp(&ws, Op("NormalizeL1", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {0.75f, -0.25f, 0, 0});
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 1)}), {0});
  ExpectThrows(&ws, Op("Normalize", {"X"}, {"Y"}, {MakeArgument("axis", 3)}), "3");
}

TEST(LpNormTest, SumsPowers) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, -2, 3, -4});
  const auto p = MakeArgument("p", 1);
  const auto average = MakeArgument("average", 1);
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}));
  ExpectTensor(ws, "Z", {1}, {30});
  RunOp(&ws, Op("LpNorm", {"X"}, {"Z"}, {p, average}));
  ExpectTensor(ws, "Z", {1}, {2.5f});
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {average}), {0});
  CheckGradient(&ws, Op("LpNorm", {"X"}, {"Z"}, {p}), {0});
  ExpectThrows(&ws, Op("LpNorm", {"X"}, {"Z"}, {MakeArgument("p", 3)}), "1 or 2");
}

}  // namespace
}  // namespace caffe2::testing
