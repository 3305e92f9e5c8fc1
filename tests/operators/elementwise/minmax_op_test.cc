#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(MinMaxOpTest, CombinesAnyNumberOfInputs) {
  Workspace ws;
  Feed<float>(&ws, "A", {3}, {1, 5, NAN});
  Feed<float>(&ws, "B", {3}, {4, 2, 0});
  Feed<float>(&ws, "C", {3}, {3, 3, 3});
  RunOp(&ws, Op("Max", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 5, NAN});
  RunOp(&ws, Op("Min", {"A", "B", "C"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {1, 2, NAN});
  Feed<float>(&ws, "A", {3}, {2, 1, 3});
  RunOp(&ws, Op("Mean", {"A", "B", "C"}, {"A"}));
  ExpectTensor(ws, "A", {3}, {3, 2, 2});
  RunOp(&ws, Op("Mean", {"B"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {4, 2, 0});
  FeedRandom(&ws, "D", {2}, 1);
  ExpectThrows(&ws, Op("Max", {"A", "D"}, {"Y"}),
               "all inputs must have the same shape: input 0 has shape");
}

TEST(MinMaxOpTest, Gradients) {
  Workspace ws;
  Feed<float>(&ws, "A", {4}, {1, 5, 2, 3});
  Feed<float>(&ws, "B", {4}, {4, 2, 1, 9});
  Feed<float>(&ws, "C", {4}, {3, 3, 7, 4});
  for (const char* type : {"Max", "Min", "Mean"}) {
    CheckGradient(&ws, Op(type, {"A", "B", "C"}, {"Y"}), {0, 1, 2});
  }
}

}  // namespace
}  // namespace caffe2::testing
