#include <cmath>
#include <limits>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

std::vector<float> Reference(int64_t rows, int64_t d, const std::vector<float>& x) {
  std::vector<float> y;
  for (int64_t i = 0; i < rows; ++i) {
    long double sum = 0;
    for (int64_t j = 0; j < d; ++j) sum += std::exp(static_cast<long double>(x[i * d + j]));
    for (int64_t j = 0; j < d; ++j) {
      y.push_back(static_cast<float>(std::exp(static_cast<long double>(x[i * d + j])) / sum));
    }
  }
  return y;
}

TEST(SoftmaxTest, MatchesReferenceAtEveryAxis) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 4, 5}, 1, -10, 10);
  const std::vector<float> x = FetchValues<float>(ws, "X");
  const struct {
    int axis;
    int64_t rows, d;
  } cases[] = {{0, 1, 60}, {1, 3, 20}, {2, 12, 5}, {-1, 12, 5}};
  for (const auto& c : cases) {
    RunOp(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", c.axis)}));
    ExpectTensor(ws, "Y", {3, 4, 5}, Reference(c.rows, c.d, x), 1e-5f, 1e-9f);
  }
}

TEST(SoftmaxTest, SurvivesLargeLogitsAndPropagatesNan) {
  Workspace ws;
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Feed<float>(&ws, "X", {2, 2}, {1e30f, -1e30f, nan, 0});
  RunOp(&ws, Op("Softmax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {1, 0, nan, nan});
}

TEST(SoftmaxTest, WorksInPlaceAndOnManyRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3000, 17}, 5, -3, 3);
  const std::vector<float> expected = Reference(3000, 17, FetchValues<float>(ws, "X"));
  RunOp(&ws, Op("Softmax", {"X"}, {"X"}));
  ExpectTensor(ws, "X", {3000, 17}, expected, 1e-5f, 1e-9f);
}

TEST(SoftmaxTest, TakesEmptyTensors) {
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  RunOp(&ws, Op("Softmax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {0, 3}, {});
}

TEST(SoftmaxTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 3);
  CheckGradient(&ws, Op("Softmax", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", 2)}), {0});
}

TEST(SoftmaxTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 3);
  ExpectThrows(&ws, Op("Softmax", {"X"}, {"Y"}, {MakeArgument<int>("axis", 2)}), "axis 2");
  Feed<int>(&ws, "I", {2, 3}, std::vector<int>(6));
  ExpectThrows(&ws, Op("Softmax", {"I"}, {"Y"}), "int");
}

TEST(SoftmaxWithLossTest, AveragesCrossEntropy) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 4}, 1, -2, 2);
  Feed<int>(&ws, "label", {5}, {0, 3, 1, 1, 2});
  RunOp(&ws,
        Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"}, {MakeArgument<float>("scale", 0.5f)}));
  const std::vector<float> p = Reference(5, 4, FetchValues<float>(ws, "X"));
  ExpectTensor(ws, "P", {5, 4}, p);
  const double loss =
      -(std::log(p[0]) + std::log(p[7]) + std::log(p[9]) + std::log(p[13]) + std::log(p[18])) / 5 *
      0.5;
  ExpectTensor(ws, "loss", {}, {static_cast<float>(loss)});
}

TEST(SoftmaxWithLossTest, WeighsRows) {
  Workspace ws;
  FeedRandom(&ws, "X", {3, 2}, 1, -2, 2);
  Feed<int>(&ws, "label", {3, 1}, {0, 1, 1});
  Feed<float>(&ws, "weight", {3}, {1, 0, 3});
  RunOp(&ws, Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"}));
  const std::vector<float> p = FetchValues<float>(ws, "P");
  ExpectTensor(ws, "loss", {}, {-(std::log(p[0]) + 3 * std::log(p[5])) / 4});
  RunOp(&ws, Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"},
                {MakeArgument<int>("average_by_batch_size", 1)}));
  ExpectTensor(ws, "loss", {}, {-(std::log(p[0]) + 3 * std::log(p[5])) / 3});
  Feed<float>(&ws, "weight", {3}, {0, 0, 0});
  RunOp(&ws, Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"}));
  ExpectTensor(ws, "loss", {}, {0});
}

TEST(SoftmaxWithLossTest, LossStaysFiniteWhereProbabilityVanishes) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {200, 0});
  Feed<int>(&ws, "label", {1}, {1});
  RunOp(&ws, Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"}));
  ExpectTensor(ws, "loss", {}, {200});
}

TEST(SoftmaxWithLossTest, TakesProbabilities) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, -2, 2);
  Feed<float>(&ws, "T", {2, 3}, {0.2f, 0.3f, 0.5f, 0, 1, 0});
  RunOp(&ws,
        Op("SoftmaxWithLoss", {"X", "T"}, {"P", "loss"}, {MakeArgument<int>("label_prob", 1)}));
  const std::vector<float> p = FetchValues<float>(ws, "P");
  const double loss =
      -(0.2 * std::log(p[0]) + 0.3 * std::log(p[1]) + 0.5 * std::log(p[2]) + std::log(p[4])) / 2;
  ExpectTensor(ws, "loss", {}, {static_cast<float>(loss)});
}

TEST(SoftmaxWithLossTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 2, 3}, 1, -2, 2);
  Feed<int>(&ws, "label", {4}, {0, 5, 1, 2});
  Feed<float>(&ws, "weight", {4}, {1, 2, 0.5f, 1});
  std::vector<float> t(24, 0.1f);
  for (int i = 0; i < 4; ++i) t[i * 6 + i] = 0.5f;
  Feed(&ws, "T", {4, 2, 3}, t);
  GradientOptions loss_only;
  loss_only.outputs_with_gradient = {1};
  const auto scale = MakeArgument<float>("scale", 2.f);
  CheckGradient(&ws, Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"}, {scale}), {0}, loss_only);
  CheckGradient(&ws, Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"}), {0},
                loss_only);
  CheckGradient(&ws,
                Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"},
                   {MakeArgument<int>("average_by_batch_size", 1)}),
                {0}, loss_only);
  CheckGradient(
      &ws, Op("SoftmaxWithLoss", {"X", "T"}, {"P", "loss"}, {MakeArgument<int>("label_prob", 1)}),
      {0}, loss_only);
}

TEST(SoftmaxWithLossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  Feed<int>(&ws, "label", {2}, {0, 3});
  const OperatorDef op = Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"});
  ExpectThrows(&ws, op, "label 3 of row 1 is out of range for 3 classes");
  Feed<int>(&ws, "label", {2}, {-1, 0});
  ExpectThrows(&ws, op, "label -1 of row 0");
  Feed<int>(&ws, "label", {3}, {0, 0, 0});
  ExpectThrows(&ws, op, "label [3] for logits [2, 3]");
  Feed<float>(&ws, "T", {2, 3}, {0.5f, 0.5f, 0.5f, 1, 0, 0});
  ExpectThrows(
      &ws, Op("SoftmaxWithLoss", {"X", "T"}, {"P", "loss"}, {MakeArgument<int>("label_prob", 1)}),
      "row 0 add up to 1.5");
}

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

TEST(SpatialSoftmaxWithLossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2, 1, 2}, 1);
  const OperatorDef op = Op("SpatialSoftmaxWithLoss", {"X", "t"}, {"P", "L"});
  Feed<int>(&ws, "t", {1, 1, 2}, {0, 2});
  ExpectThrows(&ws, op, "label 2 of row 1 is out of range for 2 classes");
  Feed<int>(&ws, "t", {1, 2, 1}, {0, 1});
  ExpectThrows(&ws, op, "labels [1, 2, 1]");
  Feed<int>(&ws, "t", {1, 1, 2}, {-1, -1});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {}, {0});  // nothing counts
}

}  // namespace
}  // namespace caffe2::testing
