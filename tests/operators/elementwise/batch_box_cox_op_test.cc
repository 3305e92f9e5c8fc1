#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BatchBoxCoxTest, TransformsColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, -9, 5, 6});
  Feed<float>(&ws, "l1", {3}, {0, 0.5f, -2});
  Feed<float>(&ws, "l2", {3}, {1, 0.25f, 0});
  RunOp(&ws, Op("BatchBoxCox", {"X", "l1", "l2"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3},
               {std::log(2.f), 2 * (std::sqrt(2.25f) - 1), (1 - 1 / 9.f) / 2, std::log(1e-6f),
                2 * (std::sqrt(5.25f) - 1), (1 - 1 / 36.f) / 2});
  Feed<float>(&ws, "l2", {2}, {1, 0});
  ExpectThrows(&ws, Op("BatchBoxCox", {"X", "l1", "l2"}, {"Y"}), "lambda2 [2]");
}

}  // namespace
}  // namespace caffe2::testing
