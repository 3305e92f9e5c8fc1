#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(OptimizerTest, AdamFollowsThePaper) {
  const std::vector<Argument> args{MakeArgument<float>("beta1", 0.8f),
                                   MakeArgument<float>("beta2", 0.95f),
                                   MakeArgument<float>("epsilon", 1e-3f)};
  const auto first = All([&](int64_t i) { return 0.8 * m[i] + 0.2 * g[i]; });
  const auto second = All([&](int64_t i) { return 0.95 * v[i] + 0.05 * g[i] * g[i]; });
  const double correction = std::sqrt(1 - std::pow(0.95, 5)) / (1 - std::pow(0.8, 5));
  const auto step =
      All([&](int64_t i) { return correction * first[i] / (std::sqrt(second[i]) + 1e-3); });
  const auto param = All([&](int64_t i) { return p[i] - 0.1 * step[i]; });
  RunOp(&ws, Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p2", "m2", "v2", "s"}, args));
  Expect("m2", first);
  Expect("v2", second);
  Expect("s", step);
  Expect("p2", param);
  RunOp(&ws, Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p", "m", "v"}, args));
  Expect("m", first);
  Expect("v", second);
  Expect("p", param);
}

// Coupled decay is part of the gradient; decoupled decay shrinks the parameter beside the step.
TEST_F(OptimizerTest, AdamDecays) {
  const auto decay = MakeArgument("weight_decay", 0.5f), beta2 = MakeArgument("beta2", 0.95f);
  const double correction = std::sqrt(1 - std::pow(0.95, 5)) / (1 - std::pow(0.9, 5));
  for (const bool decoupled : {false, true}) {
    SCOPED_TRACE(decoupled);
    const auto grad = All([&](int64_t i) { return decoupled ? g[i] : g[i] + 0.5 * p[i]; });
    const auto first = All([&](int64_t i) { return 0.9 * m[i] + 0.1 * grad[i]; });
    const auto second = All([&](int64_t i) { return 0.95 * v[i] + 0.05 * grad[i] * grad[i]; });
    const auto step =
        All([&](int64_t i) { return correction * first[i] / (std::sqrt(second[i]) + 1e-5); });
    RunOp(&ws, Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p2", "m2", "v2", "s"},
                  {decay, beta2, MakeArgument("decoupled_weight_decay", decoupled)}));
    Expect("m2", first);
    Expect("v2", second);
    Expect("s", step);
    Expect("p2", All([&](int64_t i) {
             return p[i] - 0.1 * step[i] - (decoupled ? 0.1 * 0.5 * p[i] : 0);
           }));
  }
}

TEST_F(OptimizerTest, AdamRejectsBadShapes) {
  ExpectThrows(&ws, Op("Adam", {"p", "m", "short", "g", "lr", "iter"}, {"p", "m", "short"}),
               "moment_2 must have as many elements as the parameter: moment_2 has shape [2], the "
               "parameter [40001]");
  ExpectThrows(&ws, Op("Adam", {"p", "m", "v", "g", "short", "iter"}, {"p", "m", "v"}),
               "the learning rate must have one element, found 2");
}

}  // namespace
}  // namespace caffe2::testing
