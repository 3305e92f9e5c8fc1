#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(PerplexityTest, IsTheInverseGeometricMean) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {0.5f, 0.25f, 1});
  RunOp(&ws, Op("Perplexity", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {2});
  Feed(&ws, "X", {1000}, Floats(1000, 0.01f));  // whose product is 0 as a float
  RunOp(&ws, Op("Perplexity", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {100});
  Feed<float>(&ws, "X", {1, 1}, {1});
  ExpectThrows(&ws, Op("Perplexity", {"X"}, {"Y"}), "one-dimensional");
}

}  // namespace
}  // namespace caffe2::testing
