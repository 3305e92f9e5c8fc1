#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ClipTensorTest, ScalesDownToTheThreshold) {
  const auto threshold = MakeArgument<float>("threshold", 2.f);
  for (const char* type : {"ClipTensorByScaling", "ClipTensorByNorm"}) {
    Workspace ws;
    Feed<float>(&ws, "X", {2}, {6, 8});
    Feed<float>(&ws, "norm", {}, {10});
    RunOp(&ws, Op(type, {"X", "norm"}, {"Y"}, {threshold}));
    ExpectTensor(ws, "Y", {2}, {1.2f, 1.6f});
    Feed<float>(&ws, "more", {1}, {4});
    RunOp(&ws, Op(type, {"X", "norm", "more"}, {"X"}, {threshold}));
    ExpectTensor(ws, "X", {2}, {4.8f, 6.4f});
    Feed<float>(&ws, "norm", {}, {1.5f});
    RunOp(&ws, Op(type, {"X", "norm"}, {"Y"}, {threshold}));
    ExpectTensor(ws, "Y", {2}, {4.8f, 6.4f});
    ExpectThrows(&ws, Op(type, {"X", "X"}, {"Y"}, {threshold}),
                 "the norm must have one element, found 2");
    ExpectThrows(&ws, Op(type, {"X", "norm"}, {"Y"}), "threshold");
  }
}

}  // namespace
}  // namespace caffe2::testing
