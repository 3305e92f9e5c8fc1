#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, AdamUpdatesRowsAsTheDenseOneDoes) {
  const std::vector<Argument> adam{MakeArgument<float>("beta1", 0.8f),
                                   MakeArgument<float>("beta2", 0.95f)};
  ExpectSameAsDense(
      Op("SparseAdam", {"p", "m", "v", "i", "g", "lr", "iter"}, {"p", "m", "v"}, adam),
      Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p", "m", "v"}, adam), {"p", "m", "v"});
}

TEST_F(SparseOptimizerTest, RectifiedAdamWaitsForTheVariance) {
  // By the formulas of Liu et al., in double; the length is that of the approximated average.
  const auto g = FetchValues<float>(ws, "g");
  std::vector<double> p, m, v;
  for (const float x : FetchValues<float>(ws, "p")) p.push_back(x);
  for (const float x : FetchValues<float>(ws, "m")) m.push_back(x);
  for (const float x : FetchValues<float>(ws, "v")) v.push_back(x);
  const double beta1 = 0.8, beta2 = 0.9, max = 2 / (1 - beta2) - 1;
  int plain = 0, rectified = 0;
  for (int64_t iter = 0; iter < 12; ++iter) {
    const double t = static_cast<double>(iter) + 1;
    const double length = max - 2 * t * std::pow(beta2, t) / (1 - std::pow(beta2, t));
    ++(length >= 5 ? rectified : plain);
    for (int k = 0; k < 6; ++k) {
      const int at = (k < 3 ? 3 : 1) * 3 + k % 3;
      m[at] = beta1 * m[at] + (1 - beta1) * g[k];
      v[at] = beta2 * v[at] + (1 - beta2) * g[k] * g[k];
      double step = m[at] / (1 - std::pow(beta1, t));
      if (length >= 5) {
        const double root = std::sqrt(v[at]) / std::sqrt(1 - std::pow(beta2, t));
        step *=
            std::sqrt((length - 4) * (length - 2) * max / ((max - 4) * (max - 2) * length)) / root;
      }
      p[at] -= 0.1 * step;
    }
    Feed<int64_t>(&ws, "iter", {1}, {iter});
    RunOp(&ws, Op("SparseAdam", {"p", "m", "v", "i", "g", "lr", "iter"}, {"p", "m", "v"},
                  {MakeArgument<float>("beta1", 0.8f), MakeArgument<float>("beta2", 0.9f),
                   MakeArgument<float>("epsilon", 0.f), MakeArgument("enableRAdam", 1)}));
  }
  EXPECT_GT(plain, 2);
  EXPECT_GT(rectified, 2);
  ExpectNear(FetchValues<float>(ws, "p"), p, 1e-4);
}

TEST_F(SparseOptimizerTest, AdamRejectsBadInput) {
  ExpectThrows(&ws, Op("SparseAdam", {"p", "m", "v", "i", "short", "lr", "iter"}, {"p", "m", "v"}),
               "the gradient must have one row for each of the 2 indices: it has shape [2], the "
               "parameter [5, 3]");
}

}  // namespace
}  // namespace caffe2::testing
