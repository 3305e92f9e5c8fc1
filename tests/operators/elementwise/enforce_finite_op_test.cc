#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(EnforceFiniteTest, NamesTheElement) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  RunOp(&ws, Op("EnforceFinite", {"X"}, {}));
  Feed<float>(&ws, "X", {2, 2}, {1, 2, NAN, 4});
  ExpectThrows(&ws, Op("EnforceFinite", {"X"}, {}), "element 2 of X [2, 2] is");
  Feed<double>(&ws, "X", {1}, {-INFINITY});
  ExpectThrows(&ws, Op("EnforceFinite", {"X"}, {}), "element 0");
  Feed<float>(&ws, "X", {0}, {});
  RunOp(&ws, Op("EnforceFinite", {"X"}, {}));
}

}  // namespace
}  // namespace caffe2::testing
