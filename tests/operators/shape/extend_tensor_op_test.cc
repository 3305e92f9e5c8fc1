#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ExtendTensorTest, AppendsZeros) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<int32_t>(&ws, "i", {3}, {1, 3, 0});
  const OperatorDef op = Op("ExtendTensor", {"X", "i"}, {"X"});
  for (int run = 0; run < 2; ++run) {  // the second changes nothing
    RunOp(&ws, op, true);
    ExpectTensor(ws, "X", {4, 2}, {1, 2, 3, 4, 0, 0, 0, 0});
  }
  Feed<int32_t>(&ws, "i", {1}, {-1});
  ExpectThrows(&ws, op, "an index");
}

}  // namespace
}  // namespace caffe2::testing
