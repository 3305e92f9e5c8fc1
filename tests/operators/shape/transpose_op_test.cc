// Transpose, Slice, Tile, and the operators that change the shape alone.
#include <algorithm>
#include <numeric>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Shape = std::vector<int64_t>;

// Element by element, through coordinates.
template <typename T>
std::vector<T> TransposeReference(const Shape& dims, const std::vector<int>& axes,
                                  const std::vector<T>& x) {
  Shape stride(dims.size(), 1);
  for (int d = static_cast<int>(dims.size()) - 2; d >= 0; --d)
    stride[d] = stride[d + 1] * dims[d + 1];
  std::vector<T> y;
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), from = 0;
    for (int d = static_cast<int>(axes.size()) - 1; d >= 0; --d) {
      from += rest % dims[axes[d]] * stride[axes[d]];
      rest /= dims[axes[d]];
    }
    y.push_back(x[from]);
  }
  return y;
}

TEST(TransposeOpTest, EveryPermutation) {
  for (const Shape& dims : {Shape{2, 3, 4, 5}, Shape{1, 17, 1, 33}, Shape{3, 20, 7, 9}}) {
    std::vector<int> axes = {0, 1, 2, 3};
    do {
      Workspace ws;
      FeedRandom(&ws, "X", dims, 1);
      RunOp(&ws, Op("Transpose", {"X"}, {"Y"}, {MakeArgument("axes", axes)}));
      Shape shape;
      for (int axis : axes) shape.push_back(dims[axis]);
      ExpectTensor(ws, "Y", shape, TransposeReference(dims, axes, FetchValues<float>(ws, "X")), 0,
                   0);
    } while (std::next_permutation(axes.begin(), axes.end()));
  }
}

TEST(TransposeOpTest, ManyThreadsAndOtherTypes) {
  const Shape dims = {8, 64, 30, 31};
  for (const std::vector<int>& axes : {std::vector<int>{0, 2, 3, 1}, {0, 3, 1, 2}, {2, 3, 0, 1}}) {
    Workspace ws;
    FeedRandom(&ws, "X", dims, 1);
    RunOp(&ws, Op("Transpose", {"X"}, {"Y"}, {MakeArgument("axes", axes)}));
    EXPECT_EQ(FetchValues<float>(ws, "Y"),
              TransposeReference(dims, axes, FetchValues<float>(ws, "X")));
  }
  Workspace ws;
  std::vector<uint8_t> bytes(6);
  std::iota(bytes.begin(), bytes.end(), 0);
  Feed(&ws, "X", {2, 3}, bytes);
  RunOp(&ws, Op("Transpose", {"X"}, {"Y"}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{0, 3, 1, 4, 2, 5}));
  Feed<double>(&ws, "X", {1, 2}, {1, 2});
  RunOp(&ws, Op("Transpose", {"X"}, {"Y"}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (Shape{2, 1}));
  Feed<float>(&ws, "X", {0, 2}, {});
  RunOp(&ws, Op("Transpose", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 0}, {});
}

TEST(TransposeOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 2}, 1);
  const auto axes = [](std::vector<int> list) { return MakeArgument("axes", list); };
  CheckGradient(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({2, 0, 1})}), {0});
  CheckGradient(&ws, Op("Transpose", {"X"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1})}), "number of dimensions");
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1, 1})}), "named twice");
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1, 3})}), "out of range");
  Feed<std::string>(&ws, "text", {1, 1}, {"a"});
  ExpectThrows(&ws, Op("Transpose", {"text"}, {"Y"}), "cannot transpose");
}

std::vector<Argument> Bounds(std::vector<int64_t> starts, std::vector<int64_t> ends) {
  return {MakeArgument("starts", starts), MakeArgument("ends", ends)};
}

TEST(SliceOpTest, Boxes) {
  Workspace ws;
  std::vector<float> values(24);
  std::iota(values.begin(), values.end(), 0.f);
  Feed(&ws, "X", {2, 3, 4}, values);
  RunOp(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({1}, {2})));
  ExpectTensor(ws, "Y", {1, 3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23});
  RunOp(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0, 1, 0}, {-1, -1, 2})));
  ExpectTensor(ws, "Y", {2, 2, 2}, {4, 5, 8, 9, 16, 17, 20, 21});
  RunOp(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0, 0, -3}, {1, 1, -2})));
  ExpectTensor(ws, "Y", {1, 1, 1}, {2});
  RunOp(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0, 3}, {9, 9})));
  ExpectTensor(ws, "Y", {2, 0, 4}, {});
  Feed<int32_t>(&ws, "starts", {3}, {0, 0, 1});
  Feed<int32_t>(&ws, "ends", {3}, {1, 2, 3});
  RunOp(&ws, Op("Slice", {"X", "starts", "ends"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {1, 2, 2}, {1, 2, 5, 6});
  Feed<std::string>(&ws, "text", {3}, {"a", "b", "c"});
  RunOp(&ws, Op("Slice", {"text"}, {"Y"}, Bounds({1}, {-1})));
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"b", "c"}));
}

TEST(SliceOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 2}, 1);
  Feed<int64_t>(&ws, "starts", {2}, {0, 1});
  Feed<int64_t>(&ws, "ends", {2}, {-1, 3});
  CheckGradient(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0, 1}, {1, -1})), {0});
  CheckGradient(&ws, Op("Slice", {"X", "starts", "ends"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({1}, {0})), "makes no sense");
  ExpectThrows(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({-9}, {1})), "makes no sense");
  ExpectThrows(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0}, {1, 1})), "1 starts and 2 ends");
  ExpectThrows(&ws, Op("Slice", {"X"}, {"Y"}, Bounds({0, 0, 0, 0}, {1, 1, 1, 1})), "for shape");
}

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
  Feed<int32_t>(&ws, "tiles", {1}, {2});
  Feed<int32_t>(&ws, "axis", {1}, {1});
  RunOp(&ws, Op("Tile", {"X", "tiles", "axis"}, {"Y"}), true);
  ExpectTensor(ws, "Y", {2, 4}, {1, 2, 1, 2, 3, 4, 3, 4});
  CheckGradient(&ws, Op("Tile", {"X"}, {"Y"}, args(3, 1)), {0});
  CheckGradient(&ws, Op("Tile", {"X"}, {"Y"}, args(2, 0)), {0});
  ExpectThrows(&ws, Op("Tile", {"X"}, {"Y"}, args(-1, 0)), "negative");
  ExpectThrows(&ws, Op("Tile", {"X"}, {"Y"}, args(2, 2)), "out of range");
}

Argument Dims(std::vector<int> dims) { return MakeArgument("dims", dims); }

TEST(ExpandSqueezeOpTest, ShapesAndGradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 1, 3}, 1);
  const auto values = FetchValues<float>(ws, "X");
  const auto expect = [&](const OperatorDef& op, Shape shape) {
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", shape, values);
    CheckGradient(&ws, op, {0});
  };
  expect(Op("ExpandDims", {"X"}, {"Y"}, {Dims({3, 0, 5})}), {1, 4, 1, 1, 3, 1});
  expect(Op("Squeeze", {"X"}, {"Y"}, {Dims({1})}), {4, 3});
  expect(Op("PrependDim", {"X"}, {"Y"}, {MakeArgument("dim_size", 2)}), {2, 2, 1, 3});
  expect(Op("MergeDim", {"X"}, {"Y"}), {4, 3});
  RunOp(&ws, Op("ExpandDims", {"X"}, {"X"}, {Dims({0})}));
  ExpectTensor(ws, "X", {1, 4, 1, 3}, values);
}

TEST(ExpandSqueezeOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1);
  ExpectThrows(&ws, Op("ExpandDims", {"X"}, {"Y"}, {Dims({4})}), "gap");
  ExpectThrows(&ws, Op("ExpandDims", {"X"}, {"Y"}, {Dims({-1})}), "negative");
  ExpectThrows(&ws, Op("Squeeze", {"X"}, {"Y"}, {Dims({0})}), "is not 1");
  ExpectThrows(&ws, Op("Squeeze", {"X"}, {"Y"}, {Dims({2})}), "is not 1");
  ExpectThrows(&ws, Op("PrependDim", {"X"}, {"Y"}, {MakeArgument("dim_size", 3)}), "multiple");
  ExpectThrows(&ws, Op("PrependDim", {"X"}, {"Y"}), "positive");
  FeedRandom(&ws, "flat", {4}, 1);
  ExpectThrows(&ws, Op("MergeDim", {"flat"}, {"Y"}), "merge");
}

}  // namespace
}  // namespace caffe2::testing
