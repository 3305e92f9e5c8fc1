#include "tests/operators/elementwise/elementwise_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(WhereOpTest, ChoosesElementsOrRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 2}, {-1, -2, -3, -4});
  FeedBools(&ws, "C", {2, 2}, {1, 0, 0, 1});
  FeedBools(&ws, "rows", {2}, {0, 1});
  RunOp(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {2, 2}, {1, -2, -3, 4});
  RunOp(&ws, Op("Where", {"rows", "X", "Y"}, {"Y"}, {MakeArgument("broadcast_on_rows", 1)}));
  ExpectTensor(ws, "Y", {2, 2}, {-1, -2, 3, 4});
  ExpectThrows(&ws, Op("Where", {"rows", "X", "Y"}, {"Z"}), "condition has shape");
  ExpectThrows(&ws, Op("Where", {"C", "X", "Y"}, {"Z"}, {MakeArgument("broadcast_on_rows", 1)}),
               "each row");
}

}  // namespace
}  // namespace caffe2::testing
