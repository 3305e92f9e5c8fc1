#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(TileOpTest, RepeatsAlongAxis) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  const auto args = [](int tiles, int axis) {
    return std::vector<Argument>{MakeArgument("tiles", tiles), MakeArgument("axis", axis)};
  };
  RunOp(&ws, Op("Tile", {"X"}, {"Y"}, args(2, 0)));
  ExpectTensor(ws, "Y", {4, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  RunOp(&ws, Op("Tile", {"X"}, {"Y"}, args(3, -1)));
  ExpectTensor(ws, "Y", {2, 6}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4});
  RunOp(&ws, Op("Tile", {"X"}, {"Y"}, args(0, 1)));
  ExpectTensor(ws, "Y", {2, 0}, {});
  Feed<float>(&ws, "none", {2, 0}, {});
  RunOp(&ws, Op("Tile", {"none"}, {"Y"}, args(1 << 30, 0)));  // a loop would take seconds
  ExpectTensor(ws, "Y", {int64_t{2} << 30, 0}, {});
  Feed<int32_t>(&ws, "tiles", {1}, {2});
  Feed<int32_t>(&ws, "axis", {1}, {1});
  RunOp(&ws, Op("Tile", {"X", "tiles", "axis"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  CheckGradient(&ws, Op("Tile", {"X"}, {"Y"}, args(3, 1)), {0});
  CheckGradient(&ws, Op("Tile", {"X"}, {"Y"}, args(2, 0)), {0});
  ExpectThrows(&ws, Op("Tile", {"X"}, {"Y"}, args(-1, 0)), "negative");
  ExpectThrows(&ws, Op("Tile", {"X"}, {"Y"}, args(2, 2)), "out of range");
}

}  // namespace
}  // namespace caffe2::testing
