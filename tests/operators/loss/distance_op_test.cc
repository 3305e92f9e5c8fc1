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

// Rows of many elements are added in lanes.
TEST(DistanceOpTest, LongRowsMatchReferences) {
  for (const int64_t n : {15, 16, 17, 100, 1000}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, n}, 1);
    FeedRandom(&ws, "Y", {2, n}, 2);
    const auto x = FetchValues<float>(ws, "X"), y = FetchValues<float>(ws, "Y");
    std::vector<double> l1(2), l2(2), dot(2), cosine(2), xx(2), yy(2);
    for (int64_t i = 0; i < 2 * n; ++i) {
      const double a = x[i], b = y[i];
      l1[i / n] += std::fabs(a - b);
      l2[i / n] += (a - b) * (a - b) / 2;
      dot[i / n] += a * b;
      xx[i / n] += a * a;
      yy[i / n] += b * b;
    }
    for (int row : {0, 1}) cosine[row] = dot[row] / std::sqrt(xx[row] * yy[row]);
    for (const auto& [type, values] : {std::pair{"L1Distance", l1},
                                       {"SquaredL2Distance", l2},
                                       {"DotProduct", dot},
                                       {"CosineSimilarity", cosine}}) {
      RunOp(&ws, Op(type, {"X", "Y"}, {"Z"}));
      ExpectTensor(ws, "Z", {2}, std::vector<float>(values.begin(), values.end()), 1e-5f, 1e-6f);
    }
  }
}

TEST(DistanceOpTest, GradientsAreNumericOnes) {
  Workspace ws;
  for (const int64_t n : {4, 19}) {
    FeedRandom(&ws, "X", {3, n}, 1, 0.5f, 1);
    FeedRandom(&ws, "Y", {3, n}, 2, -0.4f, 0.4f);
    for (const char* type : {"L1Distance", "SquaredL2Distance", "DotProduct", "CosineSimilarity"}) {
      CheckGradient(&ws, Op(type, {"X", "Y"}, {"Z"}), {0, 1});
    }
  }
  FeedRandom(&ws, "X", {3, 4}, 1);
  FeedRandom(&ws, "Y", {3, 4}, 2);
  Feed<float>(&ws, "short", {3, 3}, std::vector<float>(9));
  ExpectThrows(&ws, Op("L1Distance", {"X", "short"}, {"Z"}), "[3, 3]");
  Feed<float>(&ws, "dZ", {2}, {1, 1});
  ExpectThrows(&ws, Op("DotProductGradient", {"X", "Y", "dZ"}, {"a", "b"}),
               "the gradient must have one value for each of the 3 rows of X, found shape [2]");
}

}  // namespace
}  // namespace caffe2::testing
