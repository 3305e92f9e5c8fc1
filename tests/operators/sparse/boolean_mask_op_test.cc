#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BooleanMaskTest, KeepsRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<bool>(&ws, "M", {3}, std::vector<bool>{true, false, true});
  const OperatorDef op = Op("BooleanMask", {"X", "M"}, {"Y", "i"});
  RunOp(&ws, op, true);
  ExpectTensor(ws, "Y", {2, 2}, {1, 2, 5, 6});
  EXPECT_EQ(FetchValues<int64_t>(ws, "i"), (Shape{0, 2}));
  CheckGradient(&ws, op, {0});
  CheckGradient(&ws, Op("BooleanMask", {"X", "M"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("BooleanMaskGradient", {"M", "X"}, {"dX"}),
               "the gradient must have one row for each");
  Feed<bool>(&ws, "short", {2}, std::vector<bool>{true, false});
  ExpectThrows(&ws, Op("BooleanMask", {"X", "short"}, {"Y"}),
               "the mask must have one bool for each row of the data: the mask has shape [2], the "
               "data [3, 2]");

  Feed<int64_t>(&ws, "n", {3}, {2, 0, 1});
  RunOp(&ws, Op("BooleanMaskLengths", {"n", "M"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Shape{1, 0, 1}));
  ExpectThrows(&ws, Op("BooleanMaskLengths", {"n", "short"}, {"Y"}),
               "length 2 must be from 0 to 0, the elements of the mask that are left, found 1");
}

TEST(BooleanMaskTest, UnmaskPutsTogether) {
  Workspace ws;
  Feed<bool>(&ws, "A", {4}, std::vector<bool>{true, false, true, false});
  Feed<bool>(&ws, "B", {4}, std::vector<bool>{false, true, true, true});
  Feed<float>(&ws, "a", {2}, {1, 2});
  Feed<float>(&ws, "b", {2}, {10, 20});
  const OperatorDef op = Op("BooleanUnmask", {"A", "a", "B", "b"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {4}, {1, 10, 2, 20});
  Feed<float>(&ws, "b", {3}, {10, 20, 30});
  ExpectThrows(&ws, op, "values 1; it must use all");
  Feed<float>(&ws, "b", {1}, {10});
  ExpectThrows(&ws, op, "at more positions than there are values 1");
  ExpectThrows(&ws, Op("BooleanUnmask", {"A", "a"}, {"Y"}), "no mask is true at position 1");
}

}  // namespace
}  // namespace caffe2::testing
