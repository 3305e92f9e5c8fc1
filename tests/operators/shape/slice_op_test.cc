#include <numeric>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

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

}  // namespace
}  // namespace caffe2::testing
