// Expand, EnforceFinite, EnsureClipped, ScaleBlobs, Bucketize.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(ExpandTest, RepeatsDimensionsOfOne) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 1}, {1, 2});
  const auto expand = [](const Shape& shape) {
    return Op("Expand", {"X"}, {"Y"}, {MakeArgument("shape", shape)});
  };
  RunOp(&ws, expand({2, 3}));
  ExpectTensor(ws, "Y", {2, 3}, {1, 1, 1, 2, 2, 2});
  RunOp(&ws, expand({2, 1, -1}));
  ExpectTensor(ws, "Y", {2, 2, 1}, {1, 2, 1, 2});
  RunOp(&ws, expand({3}));
  ExpectTensor(ws, "Y", {2, 3}, {1, 1, 1, 2, 2, 2});
  RunOp(&ws, expand({2, 0}));
  ExpectTensor(ws, "Y", {2, 0}, {});
  ExpectThrows(&ws, expand({3, 2}), "[3, 2]");
  ExpectThrows(&ws, expand({-2}), "-2");
  Feed<int32_t>(&ws, "shape", {3}, {2, 1, 2});
  RunOp(&ws, Op("Expand", {"X", "shape"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2, 2}, {1, 1, 2, 2, 1, 1, 2, 2});
  Feed<int64_t>(&ws, "X", {1}, {7});
  RunOp(&ws, expand({2, 1}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (Shape{7, 7}));
}

template <typename T>
void ExpectRowsRepeat(int64_t n) {
  Workspace ws;
  std::vector<T> x, rows, elements;
  for (int64_t i = 0; i < 3 * n; ++i) x.push_back(static_cast<T>(i + 1));
  for (int64_t i = 0; i < 3; ++i) {
    for (int64_t k = 0; k < 5; ++k) {
      rows.insert(rows.end(), x.begin() + i * n, x.begin() + (i + 1) * n);
    }
  }
  for (const T value : x) elements.insert(elements.end(), n, value);
  Feed(&ws, "X", {3, 1, n}, x);
  RunOp(&ws, Op("Expand", {"X"}, {"Y"}, {MakeArgument("shape", Shape{3, 5, n})}));
  EXPECT_EQ(FetchValues<T>(ws, "Y"), rows);
  Feed(&ws, "X", {3 * n, 1}, x);
  RunOp(&ws, Op("Expand", {"X"}, {"Y"}, {MakeArgument("shape", Shape{3 * n, n})}));
  EXPECT_EQ(FetchValues<T>(ws, "Y"), elements);
}

TEST(ExpandTest, RepeatsRowsOfAnyLength) {
  for (int64_t n = 1; n < 40; ++n) {
    ExpectRowsRepeat<float>(n);
    ExpectRowsRepeat<int64_t>(n);
  }
}

TEST(ExpandTest, GradientSums) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 1, 3}, 1);
  for (const Shape& shape : {Shape{4, 2, 2, 3}, Shape{2, 1, 3}, Shape{5, 1}}) {
    CheckGradient(&ws, Op("Expand", {"X"}, {"Y"}, {MakeArgument("shape", shape)}), {0});
  }
  Feed<float>(&ws, "dY", {3, 3}, std::vector<float>(9));
  ExpectThrows(&ws, Op("ExpandGradient", {"dY", "X"}, {"dX"}),
               "dY must have a shape to which X expands: dY has shape [3, 3]");
}

}  // namespace
}  // namespace caffe2::testing
