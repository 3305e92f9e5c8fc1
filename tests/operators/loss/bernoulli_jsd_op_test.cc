#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(BernoulliJSDTest, IsZeroForEqualOnes) {
  Workspace ws;
  const Floats p{0.3f, 0.5f, 0.9f, 0}, q{0.3f, 0.1f, 0.2f, 1};
  Feed(&ws, "P", {4}, p);
  Feed(&ws, "Q", {4}, q);
  const auto entropy = [](double x) {
    return x == 0 || x == 1 ? 0 : -x * std::log(x) - (1 - x) * std::log(1 - x);
  };
  Floats expected;
  for (int i = 0; i < 4; ++i) {
    expected.push_back(static_cast<float>(entropy((double{p[i]} + q[i]) / 2) -
                                          (entropy(p[i]) + entropy(q[i])) / 2));
  }
  RunOp(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}));
  ExpectTensor(ws, "L", {4}, expected);
  EXPECT_EQ(FetchValues<float>(ws, "L")[0], 0);
  FeedRandom(&ws, "P", {5}, 1, 0.2f, 0.8f);
  FeedRandom(&ws, "Q", {5}, 2, 0.2f, 0.8f);
  CheckGradient(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}), {0});
  Feed<float>(&ws, "Q", {2}, {0, 1});
  ExpectThrows(&ws, Op("BernoulliJSD", {"P", "Q"}, {"L"}), "input 1 has shape [2]");
}

}  // namespace
}  // namespace caffe2::testing
