#include <cmath>

#include "tests/operators/activation/softmax_reference.h"
#include "tests/operators/loss/wide_labels.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(SoftmaxWithLossTest, AveragesCrossEntropy) {
  Workspace ws;
  FeedRandom(&ws, "X", {5, 4}, 1, -2, 2);
  Feed<int>(&ws, "label", {5}, {0, 3, 1, 1, 2});
  RunOp(&ws,
        Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"}, {MakeArgument<float>("scale", 0.5f)}));
  const std::vector<float> p = SoftmaxReference(5, 4, FetchValues<float>(ws, "X"));
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
  Feed<float>(&ws, "weight", {4}, {1, -4, 0.5f, 1});  // their sum is negative
  CheckGradient(&ws, Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"}), {0},
                loss_only);
  Feed<float>(&ws, "weight", {4}, {1, 2, 0.5f, 1});
  CheckGradient(&ws,
                Op("SoftmaxWithLoss", {"X", "label", "weight"}, {"P", "loss"},
                   {MakeArgument<int>("average_by_batch_size", 1)}),
                {0}, loss_only);
  CheckGradient(
      &ws, Op("SoftmaxWithLoss", {"X", "T"}, {"P", "loss"}, {MakeArgument<int>("label_prob", 1)}),
      {0}, loss_only);
}

TEST(SoftmaxWithLossTest, TakesWideLabels) {
  Workspace ws;
  FeedRandom(&ws, "X", {4, 3}, 1, -2, 2);
  Feed<int>(&ws, "label", {4}, {2, 0, 1, 2});
  ExpectWideLabelsWork(&ws, Op("SoftmaxWithLoss", {"X", "label"}, {"P", "loss"}));
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
  ExpectThrows(&ws, op, "label has shape [3], the logits [2, 3]");
  Feed<float>(&ws, "T", {2, 3}, {0.5f, 0.5f, 0.5f, 1, 0, 0});
  ExpectThrows(
      &ws, Op("SoftmaxWithLoss", {"X", "T"}, {"P", "loss"}, {MakeArgument<int>("label_prob", 1)}),
      "row 0 add up to 1.5");
}

}  // namespace
}  // namespace caffe2::testing
