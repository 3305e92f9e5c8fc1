#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ScatterWeightedSumOpTest, UpdatesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "half", {1}, {0.5f});
  Feed<float>(&ws, "ten", {1}, {10});
  Feed<int32_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "U", {2, 2}, {1, 0, 0, 1});
  RunOp(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}));
  ExpectTensor(ws, "X", {3, 2}, {0.5f, 11, 3, 4, 12.5f, 3});
  Feed<int64_t>(&ws, "i", {2}, {0, 3});
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}),
               "out of range");
  Feed<int64_t>(&ws, "i", {1}, {0});
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"X"}), "must hold");
  ExpectThrows(&ws, Op("ScatterWeightedSum", {"X", "half", "i", "U", "ten"}, {"Z"}), "in place");
}

}  // namespace
}  // namespace caffe2::testing
