#include <algorithm>

#include "operators/common/host_device.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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
