#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RateOptimizerTest, WeightsAreScaledEverySoManyIterations) {
  const auto expect_scaled = [&](int64_t iteration, float factor) {
    Feed<int64_t>(&ws, "iter", {1}, {iteration});
    RunOp(&ws, Op("WeightScale", {"p", "iter"}, {"p2"},
                  {MakeArgument("stepsize", 4), MakeArgument("upper_bound_iter", 12),
                   MakeArgument("scale", 0.5f)}));
    SCOPED_TRACE(iteration);
    ExpectTensor(ws, "p2", {3, 2}, All([&](int i, float) { return factor * p[i]; }), 0, 0);
  };
  expect_scaled(3, 0.5f);
  expect_scaled(4, 1);
  expect_scaled(7, 0.5f);
  expect_scaled(11, 1);  // the bound
  ExpectThrows(&ws, Op("WeightScale", {"p", "iter"}, {"p2"}, {MakeArgument("stepsize", 0)}),
               "stepsize");
}

}  // namespace
}  // namespace caffe2::testing
