#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ReplaceNaNTest, WritesAValue) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {1, NAN, INFINITY});
  RunOp(&ws, Op("ReplaceNaN", {"X"}, {"Y"}, {MakeArgument<float>("value", 5.f)}));
  ExpectTensor(ws, "Y", {3}, {1, 5, INFINITY});
}

}  // namespace
}  // namespace caffe2::testing
