// Distances and products of rows, ElementwiseLinear.
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(DistanceOpTest, MatchReferences) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2, 2}, 1);
  FeedRandom(&ws, "Y", {3, 2, 2}, 2);
  const auto x = FetchValues<float>(ws, "X"), y = FetchValues<float>(ws, "Y");
  std::vector<float> l1, dot, cosine;
  for (int i = 0; i < 3; ++i) {
    double sum = 0, xy = 0, xx = 0, yy = 0;
    for (int j = 4 * i; j < 4 * i + 4; ++j) {
      sum += std::abs(x[j] - y[j]);
      xy += x[j] * y[j];
      xx += x[j] * x[j];
      yy += y[j] * y[j];
    }
    l1.push_back(static_cast<float>(sum));
    dot.push_back(static_cast<float>(xy));
    cosine.push_back(static_cast<float>(xy / std::sqrt(xx * yy)));
  }
  RunOp(&ws, Op("L1Distance", {"X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {3}, l1);
  RunOp(&ws, Op("DotProduct", {"X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {3}, dot);
  RunOp(&ws, Op("CosineSimilarity", {"X", "Y"}, {"Z"}));
  ExpectTensor(ws, "Z", {3}, cosine);
  Feed<float>(&ws, "zeros", {3, 2, 2}, std::vector<float>(12));
  RunOp(&ws, Op("CosineSimilarity", {"X", "zeros"}, {"Z"}));
  ExpectTensor(ws, "Z", {3}, {0, 0, 0});
  Feed<float>(&ws, "none", {0, 2}, {});
  RunOp(&ws, Op("DotProduct", {"none", "none"}, {"Z"}));
  ExpectTensor(ws, "Z", {0}, {});
}

TEST(DistanceOpTest, GradientsAreNumericOnes) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4}, 1, 0.5f, 1);
  FeedRandom(&ws, "Y", {3, 4}, 2, -0.4f, 0.4f);
  for (const char* type : {"L1Distance", "DotProduct", "CosineSimilarity"}) {
    CheckGradient(&ws, Op(type, {"X", "Y"}, {"Z"}), {0, 1});
  }
  Feed<float>(&ws, "short", {3, 3}, std::vector<float>(9));
  ExpectThrows(&ws, Op("L1Distance", {"X", "short"}, {"Z"}), "[3, 3]");
  Feed<float>(&ws, "dZ", {2}, {1, 1});
  ExpectThrows(&ws, Op("DotProductGradient", {"X", "Y", "dZ"}, {"a", "b"}), "gradient [2]");
}

TEST(DotProductWithPaddingTest, PadsOrRepeats) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "Y", {2, 4}, {1, 1, 1, 1, 1, 2, 3, 4});
  const auto pad = MakeArgument<float>("pad_value", 0.5f);
  const auto replicate = MakeArgument<int>("replicate", 1);
  RunOp(&ws, Op("DotProductWithPadding", {"X", "Y"}, {"Z"}, {pad}));
  ExpectTensor(ws, "Z", {2}, {4, 14.5f});
  RunOp(&ws, Op("DotProductWithPadding", {"Y", "X"}, {"Z"}, {replicate}));
  ExpectTensor(ws, "Z", {2}, {6, 36});
  FeedRandom(&ws, "X", {2, 2}, 1);
  FeedRandom(&ws, "Y", {2, 4}, 2);
  CheckGradient(&ws, Op("DotProductWithPadding", {"X", "Y"}, {"Z"}, {pad}), {0, 1});
  CheckGradient(&ws, Op("DotProductWithPadding", {"Y", "X"}, {"Z"}, {replicate}), {0, 1});
  Feed<float>(&ws, "odd", {2, 3}, std::vector<float>(6));
  ExpectThrows(&ws, Op("DotProductWithPadding", {"X", "odd"}, {"Z"}, {replicate}), "repeat");
  Feed<float>(&ws, "rows", {3, 2}, std::vector<float>(6));
  ExpectThrows(&ws, Op("DotProductWithPadding", {"X", "rows"}, {"Z"}), "as many rows");
}

TEST(ElementwiseLinearTest, ScalesAndShiftsColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 3}, {1, 2, 3, 4, 5, 6});
  Feed<float>(&ws, "w", {3}, {1, -1, 2});
  Feed<float>(&ws, "b", {3}, {0, 10, 1});
  RunOp(&ws, Op("ElementwiseLinear", {"X", "w", "b"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {1, 8, 7, 4, 5, 13});
  CheckGradient(&ws, Op("ElementwiseLinear", {"X", "w", "b"}, {"Y"}), {0, 1, 2});
  FeedRandom(&ws, "X4", {2, 1, 3}, 1);
  CheckGradient(&ws, Op("ElementwiseLinear", {"X4", "w", "b"}, {"Y"}, {MakeArgument("axis", 2)}),
                {0, 1, 2});
  Feed<float>(&ws, "two", {2}, {1, 2});
  ExpectThrows(&ws, Op("ElementwiseLinear", {"X", "two", "b"}, {"Y"}), "w [2]");
  ExpectThrows(&ws, Op("ElementwiseLinear", {"X", "w", "two"}, {"Y"}), "b [2]");
}

}  // namespace
}  // namespace caffe2::testing
