#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kSwish{"Swish", [](double x) { return x / (1 + std::exp(-x)); }, -8, 8};
const UnaryFunction kMish{"Mish", [](double x) { return x * std::tanh(std::log(1 + std::exp(x))); },
                          -8, 8};

TEST(SwishTest, MatchesReferences) {
  for (const UnaryFunction& f : {kSwish, kMish}) {
    Workspace ws;
    FeedRandom(&ws, "X", {40}, 1, f.low, f.high);
    Floats expected;
    for (const float x : FetchValues<float>(ws, "X")) {
      expected.push_back(static_cast<float>(f.reference(x)));
    }
    RunOp(&ws, f.Make("X", "Y"));
    ExpectTensor(ws, "Y", {40}, expected);
  }
}

TEST(SwishTest, GradientsAreNumericOnes) {
  CheckUnaryGradient(kSwish, -2, 2, false);
  CheckUnaryGradient(kMish, -2, 2, false);
}

TEST(SwishTest, MishTakesExtremes) {
  Workspace ws;
  Feed<float>(&ws, "far", {3}, {-1000, 0, 1000});
  RunOp(&ws, kMish.Make("far", "Y"));
  ExpectTensor(ws, "Y", {3}, {0, 0, 1000});
}

}  // namespace
}  // namespace caffe2::testing
