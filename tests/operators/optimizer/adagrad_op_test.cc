#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(OptimizerTest, AdagradSumsSquares) {
  const std::vector<Argument> args{MakeArgument<float>("epsilon", 1e-3f),
                                   MakeArgument<float>("decay", 0.9f)};
  const auto moment = All([&](int64_t i) { return 0.9 * v[i] + g[i] * g[i]; });
  const auto rate = All([&](int64_t i) { return -0.1 / (std::sqrt(moment[i]) + 1e-3); });
  const auto update = All([&](int64_t i) { return rate[i] * g[i]; });
  const auto param = All([&](int64_t i) { return p[i] + update[i]; });
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p2", "v2", "rate", "update"}, args));
  Expect("v2", moment);
  Expect("rate", rate);
  Expect("update", update);
  Expect("p2", param);
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v"}, args));
  Expect("v", moment);
  Expect("p", param);
}

TEST_F(OptimizerTest, AdagradDecaysWeights) {
  const std::vector<Argument> args{MakeArgument<float>("weight_decay", 0.5f)};
  const auto slope = All([&](int64_t i) { return g[i] + 0.5 * p[i]; });
  const auto moment = All([&](int64_t i) { return v[i] + slope[i] * slope[i]; });
  const auto update =
      All([&](int64_t i) { return -0.1 * slope[i] / (std::sqrt(moment[i]) + 1e-5); });
  const auto param = All([&](int64_t i) { return p[i] + update[i]; });
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v", "rate", "update"}, args));
  Expect("v", moment);
  Expect("update", update);
  Expect("p", param);
}

TEST_F(OptimizerTest, AdagradRejectsBadShapes) {
  ExpectThrows(&ws, Op("Adagrad", {"p", "v", "short", "lr"}, {"p", "v"}),
               "gradient must have as many elements as the parameter: gradient has shape [2], the "
               "parameter [40001]");
}

}  // namespace
}  // namespace caffe2::testing
