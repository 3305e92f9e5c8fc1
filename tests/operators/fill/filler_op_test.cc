#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FillerOpTest, ShapeComesFromArgumentOrInput) {
  Workspace ws;
  RunOp(&ws, Op("ConstantFill", {}, {"Y"},
                {MakeArgument("shape", Longs{2, 3}), MakeArgument("value", 2.5f)}));
  ExpectTensor(ws, "Y", {2, 3}, std::vector<float>(6, 2.5f));
  RunOp(&ws, Op("ConstantFill", {}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {0});

  FeedRandom(&ws, "like", {3, 1}, 1);
  RunOp(&ws, Op("ConstantFill", {"like"}, {"Y"}, {MakeArgument("value", 1.f)}));
  ExpectTensor(ws, "Y", {3, 1}, {1, 1, 1});
  RunOp(&ws, Op("ConstantFill", {"like"}, {"Y"},
                {MakeArgument("extra_shape", std::vector<int64_t>{2})}));
  ExpectTensor(ws, "Y", {3, 1, 2}, std::vector<float>(6, 0.f));

  Feed<int64_t>(&ws, "shape", {2}, {2, 2});
  RunOp(&ws, Op("ConstantFill", {"shape"}, {"Y"},
                {MakeArgument("input_as_shape", 1),
                 MakeArgument("extra_shape", std::vector<int64_t>{1})}));
  ExpectTensor(ws, "Y", {2, 2, 1}, {0, 0, 0, 0});
}

TEST(FillerOpTest, RefusesBadShapes) {
  Workspace ws;
  FeedRandom(&ws, "like", {2, 1}, 1);
  Feed<int64_t>(&ws, "negative", {2}, {2, -2});
  const auto input_as_shape = MakeArgument("input_as_shape", 1);
  const auto shape = [](std::vector<int64_t> dims) { return MakeArgument("shape", dims); };
  ExpectThrows(&ws, Op("ConstantFill", {"like"}, {"Y"}, {MakeArgument("shape", Longs{2, 3})}),
               "together");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {input_as_shape}), "needs an input");
  ExpectThrows(&ws, Op("GaussianFill", {}, {"Y"}, {MakeArgument("shape", 32)}), "must be a list");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {MakeArgument("extra_shape", 1)}),
               "needs an input");
  ExpectThrows(&ws, Op("ConstantFill", {"negative"}, {"Y"}, {input_as_shape}), "negative");
  ExpectThrows(&ws, Op("ConstantFill", {"like"}, {"Y"}, {input_as_shape}), "one-dimensional");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {shape({2, -1})}), "negative");
  ExpectThrows(&ws, Op("ConstantFill", {}, {"Y"}, {shape({int64_t{1} << 40, int64_t{1} << 40})}),
               "overflows");
}

}  // namespace
}  // namespace caffe2::testing
