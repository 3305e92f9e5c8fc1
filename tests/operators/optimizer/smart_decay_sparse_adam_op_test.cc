#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr double kBeta1 = 0.8, kBeta2 = 0.9, kEpsilon = 1e-3, kLr = -0.1;

class SmartDecaySparseAdamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws_, "p", {3, 2}, 1);
    FeedRandom(&ws_, "m1", {3, 2}, 2);
    FeedRandom(&ws_, "m2", {3, 2}, 3, 0, 1);
    Feed<int64_t>(&ws_, "seen", {3}, {2, 7, 4});
    FeedRandom(&ws_, "g", {2, 2}, 4);
    Feed<int32_t>(&ws_, "i", {2}, {1, 0});
    Feed<float>(&ws_, "lr", {1}, {static_cast<float>(kLr)});
    Feed<int64_t>(&ws_, "it", {1}, {7});
  }
  OperatorDef MakeOp() const {
    return Op("SmartDecaySparseAdam", {"p", "m1", "m2", "seen", "i", "g", "lr", "it"},
              {"p", "m1", "m2", "seen"},
              {MakeArgument("beta1", static_cast<float>(kBeta1)),
               MakeArgument("beta2", static_cast<float>(kBeta2)),
               MakeArgument("epsilon", static_cast<float>(kEpsilon))});
  }
  Workspace ws_;
};

// Step by step: without a gradient the first moment moves the row on and decays, and the divisor
// of all steps is the last.
TEST_F(SmartDecaySparseAdamTest, MakesUpForMissedSteps) {
  std::vector<float> p = FetchValues<float>(ws_, "p"), m1 = FetchValues<float>(ws_, "m1"),
                     m2 = FetchValues<float>(ws_, "m2");
  const std::vector<float> g = FetchValues<float>(ws_, "g");
  const int steps[] = {6, 1};  // rows 0 and 1; now is iteration 8
  for (int row = 0; row < 2; ++row) {
    for (int j = 0; j < 2; ++j) {
      const int at = 2 * row + j;
      const double gradient = g[2 * (1 - row) + j];
      double first = m1[at], second = m2[at], moved = 0;
      for (int k = 1; k <= steps[row]; ++k) {
        const double now = k == steps[row] ? gradient : 0;
        first = kBeta1 * first + (1 - kBeta1) * now;
        second = kBeta2 * second + (1 - kBeta2) * now * now;
        moved += first;
      }
      m1[at] = static_cast<float>(first);
      m2[at] = static_cast<float>(second);
      p[at] += static_cast<float>(kLr * moved / (std::sqrt(second) + kEpsilon));
    }
  }
  RunOp(&ws_, MakeOp());
  ExpectTensor(ws_, "p", {3, 2}, p, 1e-4f);
  ExpectTensor(ws_, "m1", {3, 2}, m1, 1e-4f);
  ExpectTensor(ws_, "m2", {3, 2}, m2, 1e-4f);
  EXPECT_EQ(FetchValues<int64_t>(ws_, "seen"), (std::vector<int64_t>{8, 8, 4}));
}

TEST_F(SmartDecaySparseAdamTest, BadInputIsNamed) {
  Feed<int64_t>(&ws_, "seen", {2}, {2, 7});
  ExpectThrows(&ws_, MakeOp(),
               "last_seen must have one element for each row of the parameter: last_seen has shape "
               "[2], the parameter [3, 2]");
  Feed<int64_t>(&ws_, "seen", {3}, {2, 7, 4});
  Feed<int32_t>(&ws_, "i", {2}, {1, 3});
  ExpectThrows(&ws_, MakeOp(), "index 3");
}

}  // namespace
}  // namespace caffe2::testing
