#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LabelCrossEntropyTest, IsMinusLogOfLabel) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {0.2f, 0.8f, 0.5f, 0.5f, 1, 0});
  Feed<int>(&ws, "label", {3}, {1, 0, 1});
  RunOp(&ws, Op("LabelCrossEntropy", {"X", "label"}, {"Y"}));
  ExpectTensor(ws, "Y", {3}, {-std::log(0.8f), -std::log(0.5f), -std::log(1e-20f)});
}

TEST(LabelCrossEntropyTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1, 0.3f, 0.9f);
  Feed<int>(&ws, "label", {4, 1}, {1, 0, 2, 2});
  CheckGradient(&ws, Op("LabelCrossEntropy", {"X", "label"}, {"Y"}), {0});
}

TEST(LabelCrossEntropyTest, RejectsBadLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, 0.3f, 0.9f);
  const OperatorDef op = Op("LabelCrossEntropy", {"X", "label"}, {"Y"});
  Feed<int>(&ws, "label", {2}, {0, 10});
  ExpectThrows(&ws, op, "label 10 of row 1 is out of range for 3 classes");
  Feed<int>(&ws, "label", {3}, {0, 0, 0});
  ExpectThrows(&ws, op, "label [3]");
}

TEST(CrossEntropyTest, WeighsLogs) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {0.2f, 0.8f, 0.5f, 0.5f});
  Feed<float>(&ws, "T", {2, 2}, {0.3f, 0.7f, 1, 0});
  RunOp(&ws, Op("CrossEntropy", {"X", "T"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {-0.3f * std::log(0.2f) - 0.7f * std::log(0.8f), -std::log(0.5f)});
  Feed<float>(&ws, "T3", {2, 3}, std::vector<float>(6));
  ExpectThrows(&ws, Op("CrossEntropy", {"X", "T3"}, {"Y"}), "[2, 3]");
}

TEST(CrossEntropyTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1, 0.3f, 0.9f);
  FeedRandom(&ws, "T", {4, 3}, 2, 0.1f, 0.9f);
  CheckGradient(&ws, Op("CrossEntropy", {"X", "T"}, {"Y"}), {0});
}

TEST(WeightedSigmoidCrossEntropyTest, WeighsElements) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, -3, 3);
  FeedRandom(&ws, "T", {2, 3}, 2, 0, 1);
  FeedRandom(&ws, "W", {2, 3}, 3, 0, 2);
  const auto x = FetchValues<float>(ws, "X"), t = FetchValues<float>(ws, "T"),
             w = FetchValues<float>(ws, "W");
  std::vector<float> loss;
  for (int i = 0; i < 2; ++i) {
    double sum = 0;
    for (int j = 3 * i; j < 3 * i + 3; ++j) {
      const double s = 1 / (1 + std::exp(-double{x[j]}));
      sum -= w[j] * (t[j] * std::log(s) + (1 - t[j]) * std::log(1 - s));
    }
    loss.push_back(static_cast<float>(sum / 3));
  }
  const OperatorDef op = Op("WeightedSigmoidCrossEntropyWithLogits", {"X", "T", "W"}, {"L"});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {2}, loss);
  CheckGradient(&ws, op, {0});
  Feed<float>(&ws, "X", {1, 3}, {200, -200, 0});
  Feed<float>(&ws, "T", {1, 3}, {1, 0, 0});
  ExpectThrows(&ws, op, "weights [2, 3]");
  Feed<float>(&ws, "W", {1, 3}, {1, 1, 0});
  RunOp(&ws, op);
  ExpectTensor(ws, "L", {1}, {0});  // nothing overflows
}

TEST(MakeTwoClassTest, AddsTheOtherClass) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 1}, {0.2f, 0.9f});
  RunOp(&ws, Op("MakeTwoClass", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 1, 2}, {0.8f, 0.2f, 0.1f, 0.9f});
  CheckGradient(&ws, Op("MakeTwoClass", {"X"}, {"Y"}), {0});
  Feed<float>(&ws, "dY", {3}, {1, 2, 3});
  ExpectThrows(&ws, Op("MakeTwoClassGradient", {"dY"}, {"dX"}), "[3]");
}

TEST(AveragedLossTest, IsTheMean) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 6});
  RunOp(&ws, Op("AveragedLoss", {"X"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {3});
  CheckGradient(&ws, Op("AveragedLoss", {"X"}, {"loss"}), {0});
  Feed<float>(&ws, "E", {0}, {});
  RunOp(&ws, Op("AveragedLoss", {"E"}, {"loss"}));
  ExpectTensor(ws, "loss", {}, {0});
}

TEST(AccuracyTest, CountsLabelsAmongTheBest) {
  Workspace ws;
  Feed<float>(&ws, "X", {4, 3}, {1, 2, 3, 3, 2, 1, 1, 1, 1, 0, 5, 4});
  Feed<int>(&ws, "label", {4}, {2, 1, 0, 0});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0.5f});  // row 2: of equal values the first wins
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}, {MakeArgument<int>("top_k", 2)}));
  ExpectTensor(ws, "accuracy", {}, {0.75f});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}, {MakeArgument<int>("top_k", 5)}));
  ExpectTensor(ws, "accuracy", {}, {1});
}

TEST(AccuracyTest, HandlesNanAndNoRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {NAN, 0});
  Feed<int>(&ws, "label", {1}, {0});
  RunOp(&ws, Op("Accuracy", {"X", "label"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0});
  Feed<float>(&ws, "E", {0, 2}, {});
  Feed<int>(&ws, "none", {0}, {});
  RunOp(&ws, Op("Accuracy", {"E", "none"}, {"accuracy"}));
  ExpectTensor(ws, "accuracy", {}, {0});
}

TEST(AccuracyTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {1, 2}, 1);
  Feed<int>(&ws, "label", {1}, {2});
  ExpectThrows(&ws, Op("Accuracy", {"X", "label"}, {"a"}), "label 2 of row 0");
  ExpectThrows(&ws, Op("Accuracy", {"X", "label"}, {"a"}, {MakeArgument<int>("top_k", 0)}),
               "top_k");
}

}  // namespace
}  // namespace caffe2::testing
