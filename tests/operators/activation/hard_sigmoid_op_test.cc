#include <algorithm>
#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

const UnaryFunction kHardSigmoid{"HardSigmoid",
                                 [](double x) { return std::clamp(0.3 * x + 0.4, 0., 1.); },
                                 -1.2f,
                                 1.9f,
                                 {MakeArgument("alpha", 0.3f), MakeArgument("beta", 0.4f)}};

TEST(HardSigmoidTest, MatchesReference) { ExpectUnaryReference(kHardSigmoid); }
TEST(HardSigmoidTest, GradientIsNumericOne) { CheckUnaryGradient(kHardSigmoid, true); }

TEST(HardSigmoidTest, TakesExtremesAndNan) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {INFINITY, -INFINITY, 0, NAN});
  RunOp(&ws, Op("HardSigmoid", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {4}, {1, 0, 0.5f, NAN});
}

}  // namespace
}  // namespace caffe2::testing
