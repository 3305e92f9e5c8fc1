// Tensors put together, taken apart and repeated: UnsafeCoalesce, SplitByLengths, NumpyTile,
// CopyRowsToTensor; and operators that only pass blobs on.
#include <algorithm>

#include "operators/common/host_device.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

using Floats = std::vector<float>;
using Longs = std::vector<int64_t>;

TEST(UnsafeCoalesceTest, PutsTensorsIntoOnePiece) {
  Workspace ws;
  Feed<float>(&ws, "a", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "b", {0, 3}, {});
  Feed<float>(&ws, "c", {1}, {5});
  const OperatorDef op = Op("UnsafeCoalesce", {"a", "b", "c"}, {"a", "b", "c", "all"});
  RunOp(&ws, op);
  ExpectTensor(ws, "a", {2, 2}, {1, 2, 3, 4});
  EXPECT_EQ(Fetch(ws, "b").sizes(), (Longs{0, 3}));
  ExpectTensor(ws, "c", {1}, {5});
  ExpectTensor(ws, "all", {5}, {1, 2, 3, 4, 5});
  if (!TestsCuda()) {  // there, blobs here are copies
    BlobGetMutableTensor(ws.GetBlob("all"), Device{})->mutable_data<float>()[4] = 9;
    ExpectTensor(ws, "c", {1}, {9});
    const void* before = Fetch(ws, "all").raw_data();
    RunOp(&ws, op);
    EXPECT_EQ(Fetch(ws, "all").raw_data(), before);
  }
  // Another shape: everything moves.
  Feed<float>(&ws, "b", {2}, {7, 8});
  RunOp(&ws, op);
  ExpectTensor(ws, "all", {7}, {1, 2, 3, 4, 7, 8, TestsCuda() ? 5.f : 9.f});
  Feed<double>(&ws, "b", {1}, {7});
  ExpectThrows(&ws, op, "must hold float");
  ExpectThrows(&ws, Op("UnsafeCoalesce", {"a", "c"}, {"x", "c", "all"}), "in place");
}

TEST(PassThroughTest, LeavesBlobsAsTheyAre) {
  Workspace ws;
  Feed<float>(&ws, "a", {2}, {1, 2});
  Feed<int32_t>(&ws, "b", {1}, {3});
  RunOp(&ws, Op("DataCouple", {"a", "b"}, {"a"}));
  RunOp(&ws, Op("AsyncNetBarrier", {"a", "b"}, {"a", "b"}));
  ExpectTensor(ws, "a", {2}, {1, 2});
  EXPECT_EQ(FetchValues<int32_t>(ws, "b"), std::vector<int32_t>{3});
  ExpectThrows(&ws, Op("AsyncNetBarrier", {"a"}, {"c"}), "in place");
  const OperatorDef alias =
      Op("AliasWithName", {"a"}, {"z"}, {MakeArgument<std::string>("name", "whatever")});
  RunOp(&ws, alias);
  ExpectTensor(ws, "z", {2}, {1, 2});
  EXPECT_EQ(Fetch(ws, "z").raw_data(), Fetch(ws, "a").raw_data());
  CheckGradient(&ws, Op("AliasWithName", {"a"}, {"y"}), {0});
}

TEST(SplitByLengthsTest, DealsLengthsToOutputs) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 6}, 1);
  const auto x = FetchValues<float>(ws, "X");
  Feed<int32_t>(&ws, "n", {4}, {1, 1, 0, 4});
  const auto axis = MakeArgument("axis", 1);
  const OperatorDef op = Op("SplitByLengths", {"X", "n"}, {"A", "B"}, {axis});
  RunOp(&ws, op, true);
  ExpectTensor(ws, "A", {2, 2}, {x[0], x[1], x[6], x[7]});
  ExpectTensor(ws, "B", {2, 4}, {x[2], x[3], x[4], x[5], x[8], x[9], x[10], x[11]});
  CheckGradient(&ws, op, {0}, {.outputs_with_gradient = {0, 1}});
  Feed<int64_t>(&ws, "n", {2}, {1, 2});
  const OperatorDef scaled =
      Op("SplitByLengths", {"X", "n"}, {"A", "B"}, {axis, MakeArgument("use_scaling_lengths", 1)});
  RunOp(&ws, scaled, true);
  EXPECT_EQ(Fetch(ws, "A").sizes(), (Longs{2, 2}));
  EXPECT_EQ(Fetch(ws, "B").sizes(), (Longs{2, 4}));
  CheckGradient(&ws, scaled, {0}, {.outputs_with_gradient = {0, 1}});
  ExpectThrows(&ws, op, "add up");
  Feed<int32_t>(&ws, "n", {2}, {1, 3});
  ExpectThrows(&ws, scaled, "no multiple");
  Feed<int32_t>(&ws, "n", {3}, {1, 2, 3});
  ExpectThrows(&ws, op, "cannot be shared by 2 outputs");
}

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
  ExpectThrows(&ws, op, "repeats of axis 0");
  Feed<int32_t>(&ws, "r", {2}, {1, 1});
  ExpectThrows(&ws, op, "one for each axis");
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

// Many rows, most of them set several times.
template <typename T>
class CopyRowsOfTypeTest : public ::testing::Test {};
using CopiedTypes = ::testing::Types<float, double, float16, bfloat16>;
TYPED_TEST_SUITE(CopyRowsOfTypeTest, CopiedTypes);

TYPED_TEST(CopyRowsOfTypeTest, SetsAndSums) {
  Workspace ws;
  constexpr int kRows = 50, kWidth = 11, kIndices = 600;
  Longs indices;
  for (int i = 0; i < kIndices; ++i) indices.push_back(i * i % 47);
  const auto value = [](int i) {
    return host_device::Narrow<TypeParam>(static_cast<float>(i % 8));
  };
  std::vector<TypeParam> x, row, set, dx, drow;
  for (int i = 0; i < kRows * kWidth; ++i) x.push_back(value(i));
  for (int j = 0; j < kWidth; ++j) row.push_back(value(j + 3));
  for (int j = 0; j < kWidth; ++j) {
    float sum = 0;
    for (int r = 0; r < kRows; ++r) {
      const bool named = std::find(indices.begin(), indices.end(), r) != indices.end();
      if (named) sum += static_cast<float>((r * kWidth + j) % 8);
    }
    drow.push_back(host_device::Narrow<TypeParam>(sum));
  }
  for (int i = 0; i < kRows * kWidth; ++i) {
    const bool named = std::find(indices.begin(), indices.end(), i / kWidth) != indices.end();
    set.push_back(named ? row[i % kWidth] : x[i]);
    dx.push_back(named ? TypeParam{} : x[i]);
  }
  const auto expect = [&ws](const char* name, const std::vector<TypeParam>& expected) {
    const auto values = FetchValues<TypeParam>(ws, name);
    ASSERT_EQ(values.size(), expected.size());
    for (size_t i = 0; i < values.size(); ++i) {
      EXPECT_EQ(host_device::Widen(values[i]), host_device::Widen(expected[i])) << name << " " << i;
    }
  };
  Feed(&ws, "X", {kRows, kWidth}, x);
  Feed(&ws, "i", {kIndices}, indices);
  Feed(&ws, "row", {kWidth}, row);
  RunOp(&ws, Op("CopyRowsToTensor", {"X", "i", "row"}, {"Y"}));
  expect("Y", set);
  RunOp(&ws, Op("CopyRowsToTensorGradient", {"i", "X"}, {"dX", "drow"}));
  expect("dX", dx);
  expect("drow", drow);
  RunOp(&ws, Op("CopyRowsToTensorGradient", {"i", "X"}, {"X", "drow"}));
  expect("X", dx);
  expect("drow", drow);
  Feed<int64_t>(&ws, "i", {2}, {0, -1});
  ExpectThrows(&ws, Op("CopyRowsToTensorGradient", {"i", "X"}, {"dX", "drow"}),
               "index -1 at position 1");
  Feed<int64_t>(&ws, "i", {0}, {});
  RunOp(&ws, Op("CopyRowsToTensorGradient", {"i", "X"}, {"dX", "drow"}));
  expect("dX", dx);
  expect("drow", std::vector<TypeParam>(kWidth));
}

TEST(CopyRowsToTensorTest, BytesAndText) {
  Workspace ws;
  Feed<uint8_t>(&ws, "X", {3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  Feed<uint8_t>(&ws, "row", {3}, {0, 1, 2});
  Feed<int32_t>(&ws, "i", {1}, {1});
  const OperatorDef op = Op("CopyRowsToTensor", {"X", "i", "row"}, {"Y"});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{1, 2, 3, 0, 1, 2, 7, 8, 9}));
  Feed<std::string>(&ws, "X", {2, 1}, {"a", "b"});
  Feed<std::string>(&ws, "row", {1}, {"c"});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"a", "c"}));
}

TEST(CopyRowsToTensorTest, SetsRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1);
  FeedRandom(&ws, "row", {2}, 2);
  Feed<int32_t>(&ws, "i", {3}, {2, 0, 2});
  const auto x = FetchValues<float>(ws, "X"), row = FetchValues<float>(ws, "row");
  const OperatorDef op = Op("CopyRowsToTensor", {"X", "i", "row"}, {"Y"});
  RunOp(&ws, op);
  const Floats expected{row[0], row[1], x[2], x[3], row[0], row[1]};
  ExpectTensor(ws, "Y", {3, 2}, expected);
  ExpectTensor(ws, "X", {3, 2}, x);
  CheckGradient(&ws, op, {0, 2});
  RunOp(&ws, Op("CopyRowsToTensor", {"X", "i", "row"}, {"X"}));
  ExpectTensor(ws, "X", {3, 2}, expected);
  FeedRandom(&ws, "row", {3}, 2);
  ExpectThrows(&ws, op, "width of input tensor should match lengths of row");
  Feed<int32_t>(&ws, "i", {1}, {3});
  FeedRandom(&ws, "row", {2}, 2);
  ExpectThrows(&ws, op, "index 3");
  Feed<float>(&ws, "dY", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "i", {2}, {1, 1});
  RunOp(&ws, Op("CopyRowsToTensorGradient", {"i", "dY"}, {"dX", "drow"}));
  ExpectTensor(ws, "dX", {3, 2}, {1, 2, 0, 0, 5, 6});
  ExpectTensor(ws, "drow", {2}, {3, 4});
}

}  // namespace
}  // namespace caffe2::testing
