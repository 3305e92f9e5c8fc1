#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RmsNormTest, MatchesReferenceAtEveryAxis) {
  for (const int axis : {1, 2, -1}) {
    Workspace ws;
    const int64_t size = axis == 1 ? 12 : 4, rows = 24 / size;
    FeedRandom(&ws, "X", {2, 3, 4}, 1, -1, 3);
    FeedRandom(&ws, "gamma", {size}, 2);
    FeedRandom(&ws, "beta", {size}, 3);
    const auto x = FetchValues<float>(ws, "X"), gamma = FetchValues<float>(ws, "gamma"),
               beta = FetchValues<float>(ws, "beta");
    std::vector<float> y, rrms;
    for (int64_t r = 0; r < rows; ++r) {
      double squares = 0;
      for (int64_t i = 0; i < size; ++i) squares += std::pow(x[r * size + i], 2);
      rrms.push_back(static_cast<float>(1 / std::sqrt(squares / size + 0.1)));
      for (int64_t i = 0; i < size; ++i) {
        y.push_back(x[r * size + i] * rrms.back() * gamma[i] + beta[i]);
      }
    }
    const OperatorDef op = Op("RMSNorm", {"X", "gamma", "beta"}, {"Y", "rrms"},
                              {MakeArgument("axis", axis), MakeArgument("eps", 0.1f)});
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {2, 3, 4}, y);
    ExpectTensor(ws, "rrms", axis == 1 ? std::vector<int64_t>{2} : std::vector<int64_t>{2, 3},
                 rrms);
    CheckGradient(&ws, op, {0, 1, 2});
  }
}

TEST(RmsNormTest, TakesNoRowsAndDoublesAndRejectsBadInput) {
  Workspace ws;
  Feed<double>(&ws, "X", {1, 2}, {3, 4});
  Feed<double>(&ws, "gamma", {2}, {1, 2});
  Feed<double>(&ws, "beta", {2}, {0, 1});
  RunOp(&ws, Op("RMSNorm", {"X", "gamma", "beta"}, {"Y", "rrms"}));
  const double rrms = 1 / std::sqrt(12.5);
  EXPECT_NEAR(FetchValues<double>(ws, "Y")[0], 3 * rrms, 1e-15);
  EXPECT_NEAR(FetchValues<double>(ws, "Y")[1], 8 * rrms + 1, 1e-15);
  Feed<float>(&ws, "X", {0, 2}, {});
  Feed<float>(&ws, "two", {2}, {1, 2});
  Feed<float>(&ws, "one", {1}, {1});
  RunOp(&ws, Op("RMSNorm", {"X", "two", "two"}, {"Y", "rrms"}));
  ExpectTensor(ws, "Y", {0, 2}, {});
  ExpectThrows(&ws, Op("RMSNorm", {"X", "one", "two"}, {"Y", "rrms"}), "gamma has shape [1]");
  ExpectThrows(&ws, Op("RMSNorm", {"X", "two", "one"}, {"Y", "rrms"}), "beta");
}

}  // namespace
}  // namespace caffe2::testing
