#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(RateOptimizerTest, AdadeltaStepsInUnitsOfTheParameter) {
  const std::vector<Argument> args{MakeArgument("epsilon", 0.01f), MakeArgument("decay", 0.75f)};
  auto squares = [&](int i, double x) { return 0.75 * h[i] + 0.25 * x * x; };
  auto step = [&](int i, double x) {
    return x * std::sqrt((d[i] + 0.01) / (squares(i, x) + 0.01));
  };
  auto delta = [&](int i, double x) { return 0.75 * d[i] + 0.25 * step(i, x) * step(i, x); };
  auto param = [&](int i, double x) { return p[i] - 0.5 * step(i, x); };
  RunOp(&ws, Op("Adadelta", {"p", "h", "d", "g", "lr"}, {"p2", "h2", "d2"}, args));
  ExpectTensor(ws, "p2", {3, 2}, All(param));
  ExpectTensor(ws, "h2", {3, 2}, All(squares));
  ExpectTensor(ws, "d2", {3, 2}, All(delta));
  ExpectThrows(&ws, Op("SparseAdadelta", {"p", "h", "d", "i", "short", "lr"}, {"p", "h", "d"}),
               "the gradient must have one row for each of the 2 indices: it has shape [1, 2], the "
               "parameter [3, 2]");
  RunOp(&ws, Op("SparseAdadelta", {"p", "h", "d", "i", "r", "lr"}, {"p", "h", "d"}, args));
  ExpectTensor(ws, "p", {3, 2}, Rows(p, param));
  ExpectTensor(ws, "h", {3, 2}, Rows(h, squares));
  ExpectTensor(ws, "d", {3, 2}, Rows(d, delta));
  ExpectThrows(&ws, Op("Adadelta", {"p", "short", "d", "g", "lr"}, {"p", "h", "d"}),
               "moment must have as many elements as the parameter: moment has shape [1, 2], the "
               "parameter [3, 2]");
}

}  // namespace
}  // namespace caffe2::testing
