#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// dX is added to what its blob holds.
TEST(Conv, GradientAddsToWhatIsThere) {
  for (const bool nhwc : {false, true}) {
    Workspace ws;
    FeedImage(&ws, "X", {2, 4, 5, 5}, RandomValues(200, 1), nhwc);
    FeedImage(&ws, "W", {6, 4, 3, 3}, RandomValues(216, 2), nhwc);
    FeedImage(&ws, "dY", {2, 6, 3, 3}, RandomValues(108, 3), nhwc);
    const std::vector<Argument> args = {MakeArgument<int>("kernel", 3),
                                        MakeArgument<std::string>("order", OrderName(nhwc)),
                                        MakeArgument<int>("no_bias", 1)};
    RunOp(&ws, Op("ConvGradient", {"X", "W", "dY"}, {"dW", "dX"}, args));
    std::vector<float> expected = FetchValues<float>(ws, "dX");
    const std::vector<float> filter = FetchValues<float>(ws, "dW"), s = RandomValues(200, 4);
    for (size_t i = 0; i < expected.size(); ++i) expected[i] += s[i];
    const std::vector<int64_t> dims = Fetch(ws, "X").sizes();
    Feed(&ws, "S", dims, s);
    RunOp(&ws, Op("ConvGradient", {"X", "W", "dY", "S"}, {"dW", "S"}, args));
    ExpectTensor(ws, "S", dims, expected);
    ExpectTensor(ws, "dW", Fetch(ws, "W").sizes(), filter, 0.f, 0.f);
    ExpectThrows(&ws, Op("ConvGradient", {"X", "W", "dY", "S"}, {"dW", "dX"}, args),
                 "must be the blob of the output dX");
    Feed(&ws, "S", {3}, std::vector<float>(3));
    ExpectThrows(&ws, Op("ConvGradient", {"X", "W", "dY", "S"}, {"dW", "S"}, args),
                 "input S must have the shape and type of X");
  }
}

TEST(Conv, EmptyBatchHasZeroFilterGradients) {
  Workspace ws;
  Feed(&ws, "X", {0, 3, 5, 5}, std::vector<float>());
  FeedRandom(&ws, "w", {2, 3, 3, 3}, 2);
  FeedRandom(&ws, "b", {2}, 3);
  RunOp(&ws, Op("Conv", {"X", "w", "b"}, {"Y"}, {MakeArgument<int>("kernel", 3)}));
  ExpectTensor(ws, "Y", {0, 2, 3, 3}, {});
  RunOp(&ws,
        Op("ConvGradient", {"X", "w", "Y"}, {"dw", "db", "dX"}, {MakeArgument<int>("kernel", 3)}));
  ExpectTensor(ws, "dw", {2, 3, 3, 3}, std::vector<float>(54, 0.f));
  ExpectTensor(ws, "db", {2}, {0.f, 0.f});
  ExpectTensor(ws, "dX", {0, 3, 5, 5}, {});
}

TEST(Conv, InputGradientCanBeLeftOut) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 1, 3, 3}, 1);
  FeedRandom(&ws, "w", {1, 1, 3, 3}, 2);
  FeedRandom(&ws, "b", {1}, 3);
  const OperatorDef op =
      Op("Conv", {"X", "w", "b"}, {"Y"},
         {MakeArgument<int>("kernel", 3), MakeArgument<int>("no_gradient_to_input", 1)});
  CheckGradient(&ws, op, {1, 2});
  GradientWrapper dy;
  dy.dense = "Y_grad";
  EXPECT_EQ(GetGradientForOp(op, {dy}).ops[0].output_size(), 2);
}

}  // namespace
}  // namespace caffe2::testing
