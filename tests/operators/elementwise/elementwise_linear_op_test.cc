#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ElementwiseLinearTest, ScalesAndShiftsColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "w", {3}, {1, -1, 2});
  Feed<float>(&ws, "b", {3}, {0, 10, 1});
  RunOp(&ws, Op("ElementwiseLinear", {"X", "w", "b"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {1, 8, 7, 4, 5, 13});
  CheckGradient(&ws, Op("ElementwiseLinear", {"X", "w", "b"}, {"Y"}), {0, 1, 2});
  FeedRandom(&ws, "X4", {2, 1, 3}, 1);
  CheckGradient(&ws, Op("ElementwiseLinear", {"X4", "w", "b"}, {"Y"}, {MakeArgument("axis", 2)}),
                {0, 1, 2});
  Feed<float>(&ws, "two", {2}, {1, 2});
  ExpectThrows(&ws, Op("ElementwiseLinear", {"X", "two", "b"}, {"Y"}), "w [2]");
  ExpectThrows(&ws, Op("ElementwiseLinear", {"X", "w", "two"}, {"Y"}), "b [2]");
}

}  // namespace
}  // namespace caffe2::testing
