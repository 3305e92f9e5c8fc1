#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr int kImages = 2, kAnchors = 2, kClasses = 3, kArea = 2;

std::vector<Argument> FocalArguments(float gamma, float alpha, int classes = kClasses) {
  return {MakeArgument("gamma", gamma), MakeArgument("alpha", alpha),
          MakeArgument<float>("scale", 2), MakeArgument("num_classes", classes)};
}
OperatorDef SigmoidFocal(float gamma, float alpha = 0.25f, int classes = kClasses) {
  return Op("SigmoidFocalLoss", {"X", "labels", "count"}, {"loss"},
            FocalArguments(gamma, alpha, classes));
}
OperatorDef SoftmaxFocal(float gamma, float alpha = 0.25f, int classes = kClasses) {
  return Op("SoftmaxFocalLoss", {"X", "labels", "count"}, {"loss", "P"},
            FocalArguments(gamma, alpha, classes));
}

// Logits of image, anchor, class and pixel, and a label for each anchor and pixel.
void FeedAnchors(Workspace* ws, const std::vector<int>& labels, float count) {
  FeedRandom(ws, "X", {kImages, kAnchors * kClasses, 1, kArea}, 1, -3, 3);
  Feed<int>(ws, "labels", {kImages, kAnchors, 1, kArea}, labels);
  Feed<float>(ws, "count", {}, {count});
}

double Focal(double right, double weight, double gamma) {
  return -weight * std::pow(1 - right, gamma) * std::log(right);
}

// Calls f(logits of one anchor at one pixel, its label).
template <class F>
void ForAnchors(const Workspace& ws, const std::vector<int>& labels, const F& f) {
  const std::vector<float> x = FetchValues<float>(ws, "X");
  for (int a = 0; a < kImages * kAnchors; ++a) {
    for (int i = 0; i < kArea; ++i) {
      std::vector<double> logits;
      for (int c = 0; c < kClasses; ++c) logits.push_back(x[(a * kClasses + c) * kArea + i]);
      f(logits, labels[a * kArea + i]);
    }
  }
}

TEST(SigmoidFocalLossTest, MatchesReference) {
  const std::vector<int> labels = {0, 1, -1, 3, 2, 0, 1, -1};
  for (const float gamma : {0.f, 1.f, 2.5f}) {
    for (const float count : {4.f, 0.f}) {
      Workspace ws;
      FeedAnchors(&ws, labels, count);
      double sum = 0;
      ForAnchors(ws, labels, [&](const std::vector<double>& logits, int label) {
        for (int c = 0; c < kClasses && label >= 0; ++c) {
          const double p = 1 / (1 + std::exp(-logits[c]));
          sum += label == c + 1 ? Focal(p, 0.25, gamma) : Focal(1 - p, 0.75, gamma);
        }
      });
      RunOp(&ws, SigmoidFocal(gamma));
      ExpectTensor(ws, "loss", {}, {static_cast<float>(2 * sum / std::max(1.f, count))});
      CheckGradient(&ws, SigmoidFocal(gamma), {0});
    }
  }
}

TEST(SigmoidFocalLossTest, StaysFinite) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2, 1, 1}, {-500, 500});
  Feed<int64_t>(&ws, "labels", {1, 1, 1, 1}, {1});
  Feed<float>(&ws, "count", {1}, {1});
  Feed<float>(&ws, "d", {}, {1});
  RunOp(&ws, SigmoidFocal(2, 0.5f, 2));
  ExpectTensor(ws, "loss", {}, {1000});
  OperatorDef gradient = Op("SigmoidFocalLossGradient", {"X", "labels", "count", "d"}, {"dX"},
                            FocalArguments(2, 0.5f, 2));
  RunOp(&ws, gradient);
  ExpectTensor(ws, "dX", {1, 2, 1, 1}, {-1, 1});
}

TEST(SoftmaxFocalLossTest, MatchesReference) {
  const std::vector<int> labels = {0, 1, -1, 2, 2, 0, 1, -1};
  for (const float gamma : {0.f, 0.5f, 2.f}) {
    for (const float count : {4.f, 0.f}) {
      Workspace ws;
      FeedAnchors(&ws, labels, count);
      double sum = 0;
      ForAnchors(ws, labels, [&](const std::vector<double>& logits, int label) {
        if (label < 0) return;
        double all = 0;
        for (const double logit : logits) all += std::exp(logit);
        sum += Focal(std::exp(logits[label]) / all, label == 0 ? 0.75 : 0.25, gamma);
      });
      RunOp(&ws, SoftmaxFocal(gamma));
      ExpectTensor(ws, "loss", {}, {static_cast<float>(2 * sum / std::max(1.f, count))});
      const Fetched<float> p = FetchValues<float>(ws, "P");
      RunOp(&ws, Op("GroupSpatialSoftmax", {"X"}, {"G"}, {MakeArgument("num_classes", kClasses)}));
      ExpectTensor(ws, "G", {kImages, kAnchors * kClasses, 1, kArea}, p);
      CheckGradient(&ws, SoftmaxFocal(gamma), {0});
    }
  }
}

TEST(SoftmaxFocalLossTest, StaysFinite) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2, 1, 2}, {500, -500, -500, 500});
  Feed<int>(&ws, "labels", {1, 1, 1, 2}, {0, 0});
  Feed<float>(&ws, "count", {1}, {1});
  Feed<float>(&ws, "d", {}, {1});
  RunOp(&ws, SoftmaxFocal(0.5f, 0.5f, 2));
  // The logarithm of the least probability.
  ExpectTensor(ws, "loss", {}, {87.3365448f});
  ExpectTensor(ws, "P", {1, 2, 1, 2}, {1, 0, 0, 1});
  OperatorDef gradient = Op("SoftmaxFocalLossGradient", {"X", "labels", "count", "P", "d"}, {"dX"},
                            FocalArguments(0.5f, 0.5f, 2));
  RunOp(&ws, gradient);
  ExpectTensor(ws, "dX", {1, 2, 1, 2}, {0, -1, 0, 1});
}

TEST(FocalLossTest, RejectsBadInput) {
  Workspace ws;
  FeedAnchors(&ws, {0, 1, -1, 3, 2, 0, 1, -1}, 1);
  ExpectThrows(&ws, SoftmaxFocal(2), "index 3 at position 3 is out of range for 3 rows");
  ExpectThrows(&ws, SoftmaxFocal(2, 0.25f, 4), "C a multiple of the 4 classes");
  ExpectThrows(&ws, SigmoidFocal(2, 0.25f, 6), "labels has shape [2, 2, 1, 2]");
  ExpectThrows(&ws, SigmoidFocal(2, 0.25f, 0), "num_classes must be positive, found 0");
  Feed<float>(&ws, "count", {2}, {1, 1});
  ExpectThrows(&ws, SigmoidFocal(2), "the normalizer must have one element, found 2");
}

}  // namespace
}  // namespace caffe2::testing
