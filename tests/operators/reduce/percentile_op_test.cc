#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PercentileTest, InterpolatesBetweenPoints) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {3, 2, 5, 6, 7, 8});
  Feed<float>(&ws, "map", {6, 2}, {1, 0.1f, 4, 0.7f, 4.5f, 0.8f, 6, 0.5f, 8, 0.9f, 8, 0.6f});
  Feed<int32_t>(&ws, "lengths", {3}, {3, 2, 1});
  const OperatorDef op = Op("Percentile", {"X", "map", "lengths"}, {"Y"});
  RunOp(&ws, op);
  ExpectTensor(ws, "Y", {2, 3}, {0.5f, 0, 0, 1, 0.7f, 0.6f});
  Feed<int32_t>(&ws, "lengths", {3}, {3, 3, 0});
  ExpectThrows(&ws, op, "feature 2 must have at least one point, found 0");
  Feed<int32_t>(&ws, "lengths", {2}, {3, 3});
  ExpectThrows(&ws, op, "one length for each column of original_values");
  Feed<int32_t>(&ws, "lengths", {3}, {4, 1, 1});
  Feed<float>(&ws, "map", {6, 2}, {1, 0, 4, 0, 3, 0, 6, 0, 8, 0, 8, 0});
  ExpectThrows(&ws, op, "sorted");
}

}  // namespace
}  // namespace caffe2::testing
