#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(NumpyTileTest, RepeatsAllAxes) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 1, 3}, {1, 2, 3, 4, 5, 6});
  Feed<int64_t>(&ws, "r", {3}, {2, 2, 2});
  const OperatorDef op = Op("NumpyTile", {"X", "r"}, {"Y"});
  RunOp(&ws, op, true);
  Floats expected;
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 2; ++j) {
      for (int k = 0; k < 6; ++k) expected.push_back(static_cast<float>(i % 2 * 3 + k % 3 + 1));
    }
  }
  ExpectTensor(ws, "Y", {4, 2, 6}, expected);
  Feed<int64_t>(&ws, "r", {3}, {1, 0, 1});
  RunOp(&ws, op, true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{2, 0, 3}));
  Feed<std::string>(&ws, "X", {2}, {"a", "b"});
  Feed<int32_t>(&ws, "r", {1}, {2});
  RunOp(&ws, op, true);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"a", "b", "a", "b"}));
  Feed<int32_t>(&ws, "r", {1}, {-1});
  ExpectThrows(&ws, op, "repeats must not be negative, found -1 for axis 0");
  Feed<int32_t>(&ws, "r", {2}, {1, 1});
  ExpectThrows(&ws, op, "repeats must have one number for each axis of X");
}

template <typename T>
class TileOfTypeTest : public ::testing::Test {};
using TiledTypes = ::testing::Types<uint8_t, int32_t, int64_t, double, bool>;
TYPED_TEST_SUITE(TileOfTypeTest, TiledTypes);

TYPED_TEST(TileOfTypeTest, FiveAxes) {
  Workspace ws;
  const Longs dims{2, 3, 1, 2, 2}, repeats{2, 1, 3, 2, 1};
  std::vector<TypeParam> x, expected;
  for (int i = 0; i < 24; ++i) x.push_back(static_cast<TypeParam>(i % 5));
  for (int i = 0; i < 4 * 3 * 3 * 4 * 2; ++i) {
    const int place[5] = {i / 72, i / 24 % 3, i / 8 % 3, i / 2 % 4, i % 2};
    int at = 0;
    for (int d = 0; d < 5; ++d) at = at * static_cast<int>(dims[d]) + place[d] % dims[d];
    expected.push_back(x[at]);
  }
  Feed(&ws, "X", dims, x);
  Feed(&ws, "r", {5}, repeats);
  const OperatorDef op = Op("NumpyTile", {"X", "r"}, {"Y"});
  RunOp(&ws, op, true);
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Longs{4, 3, 3, 4, 2}));
  EXPECT_EQ(FetchValues<TypeParam>(ws, "Y"), expected);
  Feed(&ws, "r", {5}, Longs(5, 1));
  RunOp(&ws, op, true);
  EXPECT_EQ(FetchValues<TypeParam>(ws, "Y"), x);
  Feed(&ws, "r", {5}, Longs{1, 1, 1, int64_t{1} << 62, 4});
  ExpectThrows(&ws, op, "");
}

}  // namespace
}  // namespace caffe2::testing
