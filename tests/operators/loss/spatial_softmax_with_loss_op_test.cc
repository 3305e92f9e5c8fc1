#include <cmath>

#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

class SpatialSoftmaxSizesTest : public ::testing::TestWithParam<int> {};

TEST_P(SpatialSoftmaxSizesTest, MatchesReference) {
  Workspace ws;
  const int n = 2, c = 3, width = GetParam(), area = 2 * width;
  FeedRandom(&ws, "X", {n, c, 2, width}, 1, -2, 2);
  std::vector<int> labels(n * area);
  for (int i = 0; i < n * area; ++i) labels[i] = i * 7 % 5 % (c + 1) - 1;
  Feed<int>(&ws, "t", {n, 2, width}, labels);
  FeedRandom(&ws, "w", {n, 2, width}, 2, 0.1f, 2);
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
  ExpectTensor(ws, "P", {n, c, 2, width}, softmax);
  ExpectTensor(ws, "L", {}, {static_cast<float>(plain / count)});
  RunOp(&ws, Op("SpatialSoftmaxWithLoss", {"X", "t", "w"}, {"P", "L"},
                {MakeArgument<float>("scale", 2.f)}));
  ExpectTensor(ws, "L", {}, {static_cast<float>(2 * weighted / weights)});
  Feed<float>(&ws, "dL", {}, {0.5f});
  RunOp(&ws, Op("SpatialSoftmaxWithLossGradient", {"X", "t", "w", "P", "dL"}, {"dX"},
                {MakeArgument<float>("scale", 2.f)}));
  std::vector<float> dx = softmax;
  for (size_t at = 0; at < dx.size(); ++at) {
    const size_t image = at / (c * area), k = at / area % c, i = image * area + at % area;
    const double difference = softmax[at] - (t[i] == static_cast<int>(k) ? 1. : 0.);
    dx[at] = static_cast<float>(t[i] < 0 ? 0 : difference * w[i] / weights);
  }
  ExpectTensor(ws, "dX", {n, c, 2, width}, dx, 1e-6f, 1e-6f);
}
INSTANTIATE_TEST_SUITE_P(Sizes, SpatialSoftmaxSizesTest, ::testing::Values(2, 23, 200));

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
