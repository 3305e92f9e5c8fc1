#include <cmath>

#include "tests/operators/image/image_reference.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

struct Variant {
  std::vector<Argument> args;
  double (*loss)(double x, double t);
};

double LogSigmoid(double x) { return -std::log(1 + std::exp(-x)); }

const Variant kVariants[] = {
    {{}, [](double x, double t) { return -(t * LogSigmoid(x) + (1 - t) * LogSigmoid(-x)); }},
    {{MakeArgument<int>("log_D_trick", 1)},
     [](double x, double t) { return (1 - 2 * t) * LogSigmoid(x); }},
    {{MakeArgument<int>("unjoined_lr_loss", 1)},
     [](double x, double t) { return -(t * x + (1 - t) * LogSigmoid(-x)); }},
};

TEST(SigmoidCrossEntropyTest, MatchesReference) {
  for (const Variant& variant : kVariants) {
    for (const int64_t d : {3, 37}) {
      Workspace ws;
      FeedRandom(&ws, "X", {2, d}, 1, -3, 3);
      FeedRandom(&ws, "T", {2, d}, 2, 0, 1);
      const std::vector<float> x = FetchValues<float>(ws, "X"), t = FetchValues<float>(ws, "T");
      std::vector<float> expected;
      for (int i = 0; i < 2; ++i) {
        double sum = 0;
        for (int64_t j = i * d; j < (i + 1) * d; ++j) sum += variant.loss(x[j], t[j]);
        expected.push_back(static_cast<float>(sum / static_cast<double>(d)));
      }
      const OperatorDef op = Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}, variant.args);
      RunOp(&ws, op);
      ExpectTensor(ws, "L", {2}, expected);
      CheckGradient(&ws, op, {0});
    }
  }
}

// The host adds in double. Devices add in float, and lose such a loss.
TEST(SigmoidCrossEntropyTest, SmallLossesStayExact) {
  const float atol = TestsCuda() ? 1e-6f : 0.f;
  for (const int64_t d : {5, 40}) {
    Workspace ws;
    Feed<float>(&ws, "X", {1, d}, std::vector<float>(d, 20));
    Feed<float>(&ws, "T", {1, d}, std::vector<float>(d, 1));
    RunOp(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}));
    ExpectTensor(ws, "L", {1}, {static_cast<float>(std::log1p(std::exp(-20.)))}, 1e-5f, atol);
  }
}

double LossGradient(const Variant& variant, double x, double t) {
  constexpr double kStep = 1e-4;
  return (variant.loss(x + kStep, t) - variant.loss(x - kStep, t)) / (2 * kStep);
}

// Loops run across rows of fewer than 32 elements, 16 rows at a time; threads share 3000 rows.
TEST(SigmoidCrossEntropyTest, TakesManyShortRows) {
  for (const Variant& variant : kVariants) {
    for (const int64_t n : {1, 2, 4, 7, 8, 17, 31, 32}) {
      for (const int64_t rows : {1, 15, 16, 17, 3000}) {
        Workspace ws;
        FeedRandom(&ws, "X", {rows, n}, 1, -8, 8);
        FeedRandom(&ws, "T", {rows, n}, 2, 0, 1);
        FeedRandom(&ws, "W", {rows, n}, 3, 0, 2);
        FeedRandom(&ws, "dL", {rows}, 4);
        const auto x = FetchValues<float>(ws, "X"), t = FetchValues<float>(ws, "T"),
                   w = FetchValues<float>(ws, "W"), dl = FetchValues<float>(ws, "dL");
        std::vector<float> loss, weighted, gradient, weighted_gradient;
        const auto width = static_cast<double>(n);
        for (int64_t r = 0; r < rows; ++r) {
          double sum = 0, weighted_sum = 0;
          for (int64_t i = r * n; i < (r + 1) * n; ++i) {
            sum += variant.loss(x[i], t[i]);
            weighted_sum += w[i] * variant.loss(x[i], t[i]);
            const double dx = LossGradient(variant, x[i], t[i]) * dl[r] / width;
            gradient.push_back(static_cast<float>(dx));
            weighted_gradient.push_back(static_cast<float>(w[i] * dx));
          }
          loss.push_back(static_cast<float>(sum / width));
          weighted.push_back(static_cast<float>(weighted_sum / width));
        }
        RunOp(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}, variant.args));
        ExpectTensor(ws, "L", {rows}, loss, 2e-6f, 1e-6f);
        RunOp(&ws,
              Op("SigmoidCrossEntropyWithLogitsGradient", {"dL", "X", "T"}, {"dX"}, variant.args));
        ExpectTensor(ws, "dX", {rows, n}, gradient, 1e-5f, 1e-6f);
        if (!variant.args.empty()) continue;
        const std::string op = "WeightedSigmoidCrossEntropyWithLogits";
        RunOp(&ws, Op(op, {"X", "T", "W"}, {"L"}));
        ExpectTensor(ws, "L", {rows}, weighted, 2e-6f, 1e-6f);
        RunOp(&ws, Op(op + "Gradient", {"dL", "X", "T", "W"}, {"dX"}));
        ExpectTensor(ws, "dX", {rows, n}, weighted_gradient, 1e-5f, 1e-6f);
      }
    }
  }
}

TEST(SigmoidCrossEntropyTest, ShortRowsDoNotMix) {
  Workspace ws;
  std::vector<float> x(20 * 3, 0), loss(20, std::log(2.f));
  x[7 * 3] = NAN;
  x[9 * 3] = INFINITY;
  loss[7] = NAN;
  loss[9] = NAN;  // the difference of two infinities
  const std::vector<float> t(20 * 3, 0.25f);
  Feed(&ws, "X", {20, 3}, x);
  Feed(&ws, "T", {20, 3}, t);
  RunOp(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}));
  ExpectTensor(ws, "L", {20}, loss, 1e-6f);
  Feed(&ws, "X", {20, 3}, ToBFloat16(x));
  Feed(&ws, "T", {20, 3}, ToBFloat16(t));
  RunOp(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}));
  WidenBlob(&ws, "L");
  ExpectTensor(ws, "L", {20}, loss, 1e-2f);
}

TEST(SigmoidCrossEntropyTest, StaysFiniteAndTakesVectors) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {500, -500});
  Feed<float>(&ws, "T", {2}, {0, 1});
  RunOp(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}));
  ExpectTensor(ws, "L", {}, {500});
}

TEST(SigmoidCrossEntropyTest, RejectsBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  FeedRandom(&ws, "T", {3, 2}, 1);
  ExpectThrows(&ws, Op("SigmoidCrossEntropyWithLogits", {"X", "T"}, {"L"}), "[3, 2]");
  ExpectThrows(&ws,
               Op("SigmoidCrossEntropyWithLogits", {"X", "X"}, {"L"},
                  {MakeArgument<int>("log_D_trick", 1), MakeArgument<int>("unjoined_lr_loss", 1)}),
               "cannot be used together");
}

}  // namespace
}  // namespace caffe2::testing
