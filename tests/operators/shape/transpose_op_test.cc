// Transpose, Slice, Tile, and the operators that change the shape alone.
#include <algorithm>
#include <numeric>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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

template <typename T>
void CheckMatrices() {
  for (const Shape& dims : {Shape{70, 150}, Shape{67, 131}, Shape{3, 300}, Shape{300, 3},
                            Shape{3, 5003}, Shape{16, 64}, Shape{1, 5}, Shape{129, 33}}) {
    SCOPED_TRACE(ShapeString(dims));
    std::vector<T> x(dims[0] * dims[1]);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 40503 >> 3);
    Workspace ws;
    Feed(&ws, "X", dims, x);
    RunOp(&ws, Op("Transpose", {"X"}, {"Y"}));
    EXPECT_EQ(FetchValues<T>(ws, "Y"), TransposeReference(dims, {1, 0}, x));
  }
}
TEST(TransposeOpTest, MatricesOfEachElementSize) {
  CheckMatrices<uint8_t>();
  CheckMatrices<uint16_t>();
  CheckMatrices<int32_t>();
  CheckMatrices<int64_t>();
}

TEST(TransposeOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 2}, 1);
  const auto axes = [](std::vector<int> list) { return MakeArgument("axes", list); };
  CheckGradient(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({2, 0, 1})}), {0});
  CheckGradient(&ws, Op("Transpose", {"X"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1})}),
               "argument axes must name each of the 3 axes of the input, found 2");
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1, 1})}), "named twice");
  ExpectThrows(&ws, Op("Transpose", {"X"}, {"Y"}, {axes({0, 1, 3})}), "out of range");
  Feed<std::string>(&ws, "text", {1, 1}, {"a"});
  ExpectThrows(&ws, Op("Transpose", {"text"}, {"Y"}), "cannot transpose");
}

}  // namespace
}  // namespace caffe2::testing
