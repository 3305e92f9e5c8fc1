#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RateOptimizerTest, DecayAdagradHasAFirstMoment) {
  Feed<int64_t>(&ws, "iter", {1}, {2});
  const std::vector<Argument> args{MakeArgument("beta1", 0.5f), MakeArgument("epsilon", 0.1f),
                                   MakeArgument("weight_decay", 0.2f)};
  auto first = [&](int i, double x) { return 0.5 * d[i] + 0.5 * x; };
  auto second = [&](int i, double x) { return h[i] + x * x; };
  auto param = [&](double correction, int i, double x) {
    return p[i] - 0.5 * (correction * first(i, x) / (std::sqrt(second(i, x)) + 0.1) + 0.2 * p[i]);
  };
  const std::vector<std::string> inputs{"p", "d", "h", "g", "lr", "iter"};
  RunOp(&ws, Op("DecayAdagrad", inputs, {"p2", "d2", "h2"}, args));
  ExpectTensor(ws, "d2", {3, 2}, All(first));
  ExpectTensor(ws, "h2", {3, 2}, All(second));
  ExpectTensor(ws, "p2", {3, 2}, All([&](int i, double x) { return param(8. / 7, i, x); }));
  std::vector<Argument> uncorrected = args;
  uncorrected.push_back(MakeArgument("bias_correction_first", 0));
  RunOp(&ws, Op("DecayAdagrad", inputs, {"p", "d", "h"}, uncorrected));
  ExpectTensor(ws, "p", {3, 2}, All([&](int i, double x) { return param(1, i, x); }));
}

}  // namespace
}  // namespace caffe2::testing
