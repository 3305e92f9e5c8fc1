#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(NanCheckOpTest, FailsOnNanAndInfinity) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, 2});
  RunOp(&ws, Op("NanCheck", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {1, 2});
  CheckGradient(&ws, Op("NanCheck", {"X"}, {"Y"}), {0});
  Feed<float>(&ws, "bad", {2}, {1, NAN});
  ExpectThrows(&ws, Op("NanCheck", {"bad", "X"}, {"Y"}), "element 1 is nan: bad float [2]");
  Feed<float>(&ws, "bad", {2}, {-INFINITY, 0});
  ExpectThrows(&ws, Op("NanCheck", {"bad"}, {"bad"}), "element 0 is -inf");
}

}  // namespace
}  // namespace caffe2::testing
