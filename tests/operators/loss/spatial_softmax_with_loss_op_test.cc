#include <cmath>

#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SpatialSoftmaxWithLossTest, MatchesReference) {
  Workspace ws;
  const int n = 2, c = 3, area = 4;
  FeedRandom(&ws, "X", {n, c, 2, 2}, 1, -2, 2);
  Feed<int>(&ws, "t", {n, 2, 2}, {0, 1, 2, -1, 2, 2, 0, 1});
  FeedRandom(&ws, "w", {n, 2, 2}, 2, 0.1f, 2);
  const auto x = FetchValues<float>(ws, "X"), w = FetchValues<float>(ws, "w");
  const auto t = FetchValues<int>(ws, "t");
  std::vector<float> softmax(x.size());
  double plain = 0, weighted = 0, count = 0, weights = 0;
  for (int i = 0; i < n * area; ++i) {
    const int first = i / area * c * area + i % area;
    double sum = 0;
    for (int k = 0; k < c; ++k) sum += std::exp(x[first + k * area]);
    for (int k = 0; k < c; ++k) {
      softmax[first + k * area] = static_cast<float>(std::exp(x[first + k * area]) / sum);
    }
    if (t[i] < 0) continue;
    const double loss = std::log(sum) - x[first + t[i] * area];
    plain += loss;
    weighted += w[i] * loss;
    count += 1;
    weights += w[i];
  }
  RunOp(&ws, Op("SpatialSoftmaxWithLoss", {"X", "t"}, {"P", "L"}));
  ExpectTensor(ws, "P", {n, c, 2, 2}, softmax);
  ExpectTensor(ws, "L", {}, {static_cast<float>(plain / count)});
  RunOp(&ws, Op("SpatialSoftmaxWithLoss", {"X", "t", "w"}, {"P", "L"},
                {MakeArgument<float>("scale", 2.f)}));
  ExpectTensor(ws, "L", {}, {static_cast<float>(2 * weighted / weights)});
}

TEST(SpatialSoftmaxWithLossTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 1, 2}, 1, -2, 2);
  FeedRandom(&ws, "w", {2, 1, 2}, 2, 0.1f, 2);
  Feed<int>(&ws, "t", {2, 1, 2}, {0, -1, 2, 1});
  GradientOptions options;
  options.outputs_with_gradient = {1};
  CheckGradient(&ws, Op("SpatialSoftmaxWithLoss", {"X", "t"}, {"P", "L"}), {0}, options);
  CheckGradient(&ws,
                Op("SpatialSoftmaxWithLoss", {"X", "t", "w"}, {"P", "L"},
                   {MakeArgument<float>("scale", 3.f)}),
                {0}, options);
}

TEST(SpatialSoftmaxWithLossTest, TakesWideLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 3, 2, 2}, 1, -2, 2);
  Feed<int>(&ws, "t", {1, 2, 2}, {0, -1, 2, 1});
  ExpectWideLabelsWork(&ws, Op("SpatialSoftmaxWithLoss", {"X", "t"}, {"P", "L"}));
}

TEST(SpatialSoftmaxWithLossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2, 1, 2}, 1);
  const OperatorDef op = Op("SpatialSoftmaxWithLoss", {"X", "t"}, {"P", "L"});
  Feed<int>(&ws, "t", {1, 1, 2}, {0, 2});
  ExpectThrows(&ws, op, "label 2 of row 1 is out of range for 2 classes");
  Feed<int>(&ws, "t", {1, 2, 1}, {0, 1});
  ExpectThrows(&ws, op,
               "the labels must be N x H x W for logits N x C x H x W: labels has shape [1, 2, 1], "
               "the logits [1, 2, 1, 2]");
  Feed<int>(&ws, "t", {1, 1, 2}, {-1, -1});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {}, {0});  // nothing counts
}

}  // namespace
}  // namespace caffe2::testing
