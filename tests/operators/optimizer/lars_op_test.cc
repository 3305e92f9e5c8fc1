#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LarsTest, RescalesByNorms) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {3, 4});
  Feed<float>(&ws, "dX", {2}, {0, 10});
  Feed<float>(&ws, "wd", {1}, {0.25f});
  Feed<float>(&ws, "trust", {1}, {2});
  Feed<float>(&ws, "max", {1}, {0.5f});
  RunOp(&ws, Op("Lars", {"X", "dX"}, {"r"}, {MakeArgument<float>("offset", 0.5f)}));
  ExpectTensor(ws, "r", {1}, {0.4f});  // 1 / (10 / 5 + 0.5)
  const auto offset = MakeArgument<float>("offset", 1.75f);
  RunOp(&ws, Op("Lars", {"X", "dX", "wd", "trust", "max"}, {"r"}, {offset}));
  ExpectTensor(ws, "r", {1}, {0.5f});  // 2 / (2 + 0.25 + 1.75)
  Feed<float>(&ws, "max", {1}, {0.3f});
  RunOp(&ws, Op("Lars", {"X", "dX", "wd", "trust", "max"}, {"r"}, {offset}));
  ExpectTensor(ws, "r", {1}, {0.3f});
  Feed<float>(&ws, "lr", {1}, {-7});
  RunOp(&ws, Op("Lars", {"X", "dX", "wd", "trust", "max", "lr"}, {"r"}, {offset}));
  ExpectTensor(ws, "r", {1}, {-2.1f});
  Feed<float>(&ws, "X", {2}, {0, 0});
  RunOp(&ws, Op("Lars", {"X", "dX"}, {"r"}));
  ExpectTensor(ws, "r", {1}, {1});
  Feed<float>(&ws, "dX", {1}, {0});
  ExpectThrows(&ws, Op("Lars", {"X", "dX"}, {"r"}),
               "gradient must have as many elements as the parameter: gradient has shape [1], the "
               "parameter [2]");
  ExpectThrows(&ws, Op("Lars", {"X", "X", "X"}, {"r"}), "inputs");
}

}  // namespace
}  // namespace caffe2::testing
