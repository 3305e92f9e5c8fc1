#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

OperatorDef SigmoidLoss(float scale = 1, int normalize = 1) {
  return Op("SigmoidCrossEntropyLoss", {"X", "T"}, {"loss"},
            {MakeArgument("scale", scale), MakeArgument("normalize", normalize)});
}

const std::vector<int> kTargets = {0, 1, -1, 1, 0, -1};

TEST(SigmoidCrossEntropyLossTest, MatchesReference) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1, -3, 3);
  Feed<int>(&ws, "T", {2, 3}, kTargets);
  const std::vector<float> x = FetchValues<float>(ws, "X");
  double sum = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double p = 1 / (1 + std::exp(-static_cast<double>(x[i])));
    if (kTargets[i] >= 0) sum -= std::log(kTargets[i] == 1 ? p : 1 - p);
  }
  RunOp(&ws, SigmoidLoss(3));
  ExpectTensor(ws, "loss", {}, {static_cast<float>(3 * sum / 4)});
  CheckGradient(&ws, SigmoidLoss(3), {0});
  RunOp(&ws, SigmoidLoss(3, 0));
  ExpectTensor(ws, "loss", {}, {static_cast<float>(3 * sum)});
  CheckGradient(&ws, SigmoidLoss(3, 0), {0});
  // numpy's default type
  Feed<int64_t>(&ws, "T", {6}, {kTargets.begin(), kTargets.end()});
  RunOp(&ws, SigmoidLoss());
  ExpectTensor(ws, "loss", {}, {static_cast<float>(sum / 4)});
}

TEST(SigmoidCrossEntropyLossTest, StaysFinite) {
  Workspace ws;
  Feed<float>(&ws, "X", {3}, {500, -500, 1000});
  Feed<int>(&ws, "T", {3}, {0, 1, 1});
  Feed<float>(&ws, "d", {}, {3});
  RunOp(&ws, SigmoidLoss());
  ExpectTensor(ws, "loss", {}, {1000.f / 3});
  RunOp(&ws, Op("SigmoidCrossEntropyLossGradient", {"X", "T", "d"}, {"dX"}));
  ExpectTensor(ws, "dX", {3}, {1, -1, 0});
}

TEST(SigmoidCrossEntropyLossTest, IgnoresAll) {
  Workspace ws;
  FeedRandom(&ws, "X", {2}, 1);
  Feed<int>(&ws, "T", {2}, {-1, -1});
  Feed<float>(&ws, "d", {}, {1});
  RunOp(&ws, SigmoidLoss());
  ExpectTensor(ws, "loss", {}, {0});
  RunOp(&ws, Op("SigmoidCrossEntropyLossGradient", {"X", "T", "d"}, {"dX"}));
  ExpectTensor(ws, "dX", {2}, {0, 0});
}

TEST(SigmoidCrossEntropyLossTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  Feed<int>(&ws, "T", {2}, {0, 1});
  ExpectThrows(&ws, SigmoidLoss(), "targets has shape [2], the logits [2, 3]");
  FeedRandom(&ws, "T", {2, 3}, 1);
  ExpectThrows(&ws, SigmoidLoss(), "float");
  ExpectThrows(&ws, SigmoidLoss(-2), "argument scale must not be negative, found -2");
}

}  // namespace
}  // namespace caffe2::testing
