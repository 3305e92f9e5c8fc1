#include <algorithm>
#include <cmath>

#include "tests/operators/elementwise/unary_test_util.h"

namespace caffe2::testing {
namespace {

TEST(LogitTest, MatchesReference) {
  Workspace ws;
  FeedRandom(&ws, "P", {40}, 2, -0.2f, 1.2f);
  Floats expected;
  for (const double x : FetchValues<float>(ws, "P")) {
    const double p = std::clamp(x, 0.1, 0.9);
    expected.push_back(static_cast<float>(std::log(p / (1 - p))));
  }
  RunOp(&ws, Op("Logit", {"P"}, {"Y"}, {MakeArgument("eps", 0.1f)}));
  ExpectTensor(ws, "Y", {40}, expected, 1e-5f, 1e-5f);
  ExpectThrows(&ws, Op("Logit", {"P"}, {"Y"}, {MakeArgument("eps", 0.5f)}), "eps");
}

TEST(LogitTest, GradientIsNumericOne) {
  Workspace ws;
  FeedRandom(&ws, "P", {3, 4}, 2, 0.2f, 0.8f);
  CheckGradient(&ws, Op("Logit", {"P"}, {"Y"}), {0});
}

}  // namespace
}  // namespace caffe2::testing
