#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ScaleBlobsTest, ScalesEach) {
  Workspace ws;
  Feed<float>(&ws, "A", {2}, {1, 2});
  Feed<float>(&ws, "B", {1, 1}, {-4});
  const std::vector<Argument> scale{MakeArgument("scale", 0.5f)};
  RunOp(&ws, Op("ScaleBlobs", {"A", "B"}, {"A", "C"}, scale));
  ExpectTensor(ws, "A", {2}, {0.5f, 1});
  ExpectTensor(ws, "C", {1, 1}, {-2});
  ExpectThrows(&ws, Op("ScaleBlobs", {"A", "B"}, {"A"}, scale), "ScaleBlobs");
}

}  // namespace
}  // namespace caffe2::testing
