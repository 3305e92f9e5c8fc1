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

template <typename T>
void CheckTiles(int64_t outer, int64_t run, int64_t tiles) {
  std::vector<T> x, expected;
  for (int64_t i = 0; i < outer * run; ++i) x.push_back(static_cast<T>(i % 120));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t t = 0; t < tiles; ++t) {
      for (int64_t i = 0; i < run; ++i) expected.push_back(x[o * run + i]);
    }
  }
  Workspace ws;
  Feed(&ws, "X", {outer, run}, x);
  RunOp(&ws, Op("Tile", {"X"}, {"Y"},
                {MakeArgument("tiles", static_cast<int>(tiles)), MakeArgument("axis", 1)}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{outer, run * tiles}));
  EXPECT_EQ(FetchValues<T>(ws, "Y"), expected) << outer << " " << run << " " << tiles;
}

TEST(TileOpTest, RepeatsRunsOfAllSizes) {
  for (const int64_t run : {1, 2, 3, 7, 100, 1500}) {
    for (const int64_t tiles : {1, 2, 3, 64, 5000}) {
      for (const int64_t outer : {1, 3}) {
        CheckTiles<uint8_t>(outer, run, tiles);
        CheckTiles<float>(outer, run, tiles);
        CheckTiles<int64_t>(outer, run, tiles);
      }
    }
  }
  CheckTiles<float>(50000, 1, 3);  // shared by threads
}

TEST(TileOpTest, RepeatsStrings) {
  Workspace ws;
  Feed<std::string>(&ws, "X", {2, 1}, {"a string of more than a few letters", "b"});
  RunOp(&ws, Op("Tile", {"X"}, {"Y"}, {MakeArgument("tiles", 2), MakeArgument("axis", 1)}));
  const std::string a = "a string of more than a few letters";
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{a, a, "b", "b"}));
}

}  // namespace
}  // namespace caffe2::testing
