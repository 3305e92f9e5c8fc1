#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(OptimizerTest, RmsPropDividesByTheMean) {
  const std::vector<Argument> args{MakeArgument<float>("decay", 0.8f),
                                   MakeArgument<float>("momentum", 0.5f),
                                   MakeArgument<float>("epsilon", 1e-3f)};
  const auto squares = All([&](int64_t i) { return 0.8 * v[i] + 0.2 * g[i] * g[i]; });
  const auto step =
      All([&](int64_t i) { return 0.5 * m[i] - 0.1 * g[i] / std::sqrt(1e-3 + squares[i]); });
  RunOp(&ws, Op("RmsProp", {"g", "v", "m", "lr"}, {"g", "v", "m"}, args));
  Expect("g", step);
  Expect("v", squares);
  Expect("m", step);
}

TEST_F(OptimizerTest, RmsPropRejectsBadShapes) {
  ExpectThrows(&ws, Op("RmsProp", {"g", "v", "short", "lr"}, {"g", "v", "short"}),
               "momentum must have as many elements as the parameter: momentum has shape [2], the "
               "parameter [40001]");
}

}  // namespace
}  // namespace caffe2::testing
