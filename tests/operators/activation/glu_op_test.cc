#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(GluTest, GatesTheFirstHalf) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 4, 3}, 1, -2, 2);
  const auto x = FetchValues<float>(ws, "X");
  std::vector<float> expected;
  for (int n = 0; n < 2; ++n) {
    for (int i = 0; i < 6; ++i) {
      const double gate = x[n * 12 + 6 + i];
      expected.push_back(static_cast<float>(x[n * 12 + i] / (1 + std::exp(-gate))));
    }
  }
  RunOp(&ws, Op("Glu", {"X"}, {"Y"}, {MakeArgument("dim", 1)}));
  ExpectTensor(ws, "Y", {2, 2, 3}, expected);
  ExpectThrows(&ws, Op("Glu", {"X"}, {"Y"}), "cannot be halved");
}

}  // namespace
}  // namespace caffe2::testing
