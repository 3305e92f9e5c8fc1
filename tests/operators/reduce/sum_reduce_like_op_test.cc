#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SumReduceLikeOpTest, SumsToAPartOfTheShape) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Feed<float>(&ws, "B", {2}, {0, 0});
  Feed<float>(&ws, "one", {1}, {0});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}));
  ExpectTensor(ws, "C", {2}, {16, 20});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}, {MakeArgument("axis", 1)}));
  ExpectTensor(ws, "C", {2}, {14, 22});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}, {MakeArgument("axis_str", std::string("N"))}));
  ExpectTensor(ws, "C", {2}, {10, 26});
  RunOp(&ws, Op("SumReduceLike", {"A", "one"}, {"C"}));
  ExpectTensor(ws, "C", {1}, {36});
  RunOp(&ws, Op("SumReduceLike", {"A", "A"}, {"C"}));
  ExpectTensor(ws, "C", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  FeedRandom(&ws, "B", {3}, 1);
  ExpectThrows(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}), "mismatch");
}

}  // namespace
}  // namespace caffe2::testing
