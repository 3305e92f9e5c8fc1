#include <cmath>

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
