#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

const OperatorDef kNarrow = Op("SpatialNarrowAs", {"A", "B"}, {"C"});

TEST(SpatialNarrowAsTest, KeepsFirstRowsAndColumns) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 1, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  Feed<float>(&ws, "B", {2, 1, 2, 2}, Floats(8, 0.f));
  RunOp(&ws, kNarrow);
  ExpectTensor(ws, "C", {2, 1, 2, 2}, {0, 1, 3, 4, 6, 7, 9, 10});
  CheckGradient(&ws, kNarrow, {0});
  // Labels without channels, of another type.
  Feed<int>(&ws, "B", {2, 1, 3}, Ints(6, 0));
  RunOp(&ws, kNarrow);
  ExpectTensor(ws, "C", {2, 1, 1, 3}, {0, 1, 2, 6, 7, 8});
  CheckGradient(&ws, kNarrow, {0});
}

TEST(SpatialNarrowAsTest, TakesLabels) {
  Workspace ws;
  Feed<int>(&ws, "A", {1, 2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "B", {1, 2, 1}, {0, 0});
  RunOp(&ws, kNarrow);
  EXPECT_EQ(Fetch(ws, "C").sizes(), (Shape{1, 2, 1}));
  EXPECT_EQ(FetchValues<int>(ws, "C"), (Ints{1, 3}));
}

TEST(SpatialNarrowAsTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 3, 4, 5}, 1);
  for (const Shape& wrong :
       std::vector<Shape>{{1, 3, 4, 5}, {2, 2, 4, 5}, {2, 3, 5, 5}, {2, 3, 4, 6}, {4, 5}}) {
    FeedRandom(&ws, "B", wrong, 1);
    ExpectThrows(&ws, kNarrow, "A has shape [2, 3, 4, 5], B [");
  }
  FeedRandom(&ws, "B", {2, 3, 1, 1}, 1);
  FeedRandom(&ws, "d", {2, 3, 1, 2}, 1);
  ExpectThrows(&ws, Op("SpatialNarrowAsGradient", {"A", "B", "d"}, {"dA"}),
               "the gradient's shape [2, 3, 1, 2] is not the shape of the slice, [2, 3, 1, 1]");
  FeedRandom(&ws, "A", {2, 3}, 1);
  FeedRandom(&ws, "B", {2, 3}, 1);
  ExpectThrows(&ws, kNarrow, "A has shape [2, 3]");
}

}  // namespace
}  // namespace caffe2::testing
