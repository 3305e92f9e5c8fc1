#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RateOptimizerTest, WeightsAreScaledEverySoManyIterations) {
  const auto scaled = [&](int64_t iteration) {
    Feed<int64_t>(&ws, "iter", {1}, {iteration});
    RunOp(&ws, Op("WeightScale", {"p", "iter"}, {"p2"},
                  {MakeArgument("stepsize", 4), MakeArgument("upper_bound_iter", 12),
                   MakeArgument("scale", 0.5f)}));
    const auto values = FetchValues<float>(ws, "p2");
    for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(values[i], p[i] * values[0] / p[0]);
    return values[0] / p[0];
  };
  EXPECT_EQ(scaled(3), 0.5f);
  EXPECT_EQ(scaled(4), 1);
  EXPECT_EQ(scaled(7), 0.5f);
  EXPECT_EQ(scaled(11), 1);  // the bound
  ExpectThrows(&ws, Op("WeightScale", {"p", "iter"}, {"p2"}, {MakeArgument("stepsize", 0)}),
               "stepsize");
}

}  // namespace
}  // namespace caffe2::testing
