// Expand, EnforceFinite, EnsureClipped, ScaleBlobs, Bucketize.
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Shape = std::vector<int64_t>;

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

TEST(ExpandTest, GradientSums) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 1, 3}, 1);
  for (const Shape& shape : {Shape{4, 2, 2, 3}, Shape{2, 1, 3}, Shape{5, 1}}) {
    CheckGradient(&ws, Op("Expand", {"X"}, {"Y"}, {MakeArgument("shape", shape)}), {0});
  }
  Feed<float>(&ws, "dY", {3, 3}, std::vector<float>(9));
  ExpectThrows(&ws, Op("ExpandGradient", {"dY", "X"}, {"dX"}), "no expansion");
}

TEST(EnforceFiniteTest, NamesTheElement) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  RunOp(&ws, Op("EnforceFinite", {"X"}, {}));
  Feed<float>(&ws, "X", {2, 2}, {1, 2, NAN, 4});
  ExpectThrows(&ws, Op("EnforceFinite", {"X"}, {}), "element 2 of X [2, 2] is");
  Feed<double>(&ws, "X", {1}, {-INFINITY});
  ExpectThrows(&ws, Op("EnforceFinite", {"X"}, {}), "element 0");
  Feed<float>(&ws, "X", {0}, {});
  RunOp(&ws, Op("EnforceFinite", {"X"}, {}));
}

TEST(EnsureClippedTest, LimitsAllOrSomeRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {-3, 0.5f, 9, NAN, -1, 2});
  const std::vector<Argument> bounds{MakeArgument("min", -1.f), MakeArgument("max", 1.f)};
  RunOp(&ws, Op("EnsureClipped", {"X"}, {"Y"}, bounds));
  ExpectTensor(ws, "Y", {3, 2}, {-1, 0.5f, 1, NAN, -1, 1});
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "g", {2, 2}, {0, 0, 0, 0});
  ExpectThrows(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"Y"}, bounds), "in place");
  RunOp(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"X"}, bounds));
  ExpectTensor(ws, "X", {3, 2}, {-1, 0.5f, 9, NAN, -1, 1});
  Feed<int64_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("EnsureClipped", {"X", "i", "g"}, {"X"}, bounds), "3");
  ExpectThrows(&ws, Op("EnsureClipped", {"X"}, {"Y"}, {bounds[0], MakeArgument("max", -2.f)}),
               "min is larger than max");
}

TEST(ScaleBlobsTest, ScalesEach) {
  Workspace ws;
  Feed<float>(&ws, "A", {2}, {1, 2});
  Feed<float>(&ws, "B", {1, 1}, {-4});
  const std::vector<Argument> scale{MakeArgument("scale", 0.5f)};
  RunOp(&ws, Op("ScaleBlobs", {"A", "B"}, {"A", "C"}, scale));
  ExpectTensor(ws, "A", {2}, {0.5f, 1});
  ExpectTensor(ws, "C", {1, 1}, {-2});
  ExpectThrows(&ws, Op("ScaleBlobs", {"A", "B"}, {"A"}, scale), "ScaleBlobs");
}

TEST(BucketizeTest, CountsBoundariesBelow) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {-1, 0, 0.5f, 1, 1.5f, 9});
  const auto bucketize = [](const std::vector<float>& boundaries) {
    return Op("Bucketize", {"X"}, {"Y"}, {MakeArgument("boundaries", boundaries)});
  };
  RunOp(&ws, bucketize({0, 1, 2}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{0, 0, 1, 1, 2, 3}));
  ExpectThrows(&ws, bucketize({1, 0}), "must be in ascending order");
  ExpectThrows(&ws, Op("Bucketize", {"X"}, {"Y"}), "boundaries");
}

}  // namespace
}  // namespace caffe2::testing
