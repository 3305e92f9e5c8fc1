#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(FtrlTest, MatchesReference) {
  Workspace ws;
  const int64_t n = 20;
  FeedRandom(&ws, "w", {n}, 1);
  FeedRandom(&ws, "g", {n}, 2);
  std::vector<float> state = RandomValues(2 * n, 3, 0.1f, 1);
  for (int64_t i = 0; i < n; ++i) state[2 * i + 1] -= 0.5f;  // z may be negative
  Feed(&ws, "nz", {n, 2}, state);
  const std::vector<float> w = FetchValues<float>(ws, "w"), g = FetchValues<float>(ws, "g");
  std::vector<float> next_w, next_state;
  int zeros = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double squares = state[2 * i] + g[i] * g[i];
    const double z =
        state[2 * i + 1] + g[i] - (std::sqrt(squares) - std::sqrt(state[2 * i])) / 0.5 * w[i];
    next_state.push_back(static_cast<float>(squares));
    next_state.push_back(static_cast<float>(z));
    const bool zero = std::abs(z) <= 0.3;
    zeros += zero;
    next_w.push_back(zero ? 0
                          : static_cast<float>(-(z - std::copysign(0.3, z)) /
                                               ((2 + std::sqrt(squares)) / 0.5 + 0.1)));
  }
  EXPECT_GT(zeros, 0);
  std::vector<Argument> args{MakeArgument<float>("beta", 2.f), MakeArgument<float>("lambda1", 0.3f),
                             MakeArgument<float>("lambda2", 0.1f)};
  Feed<float>(&ws, "alpha", {1}, {0.5f});
  RunOp(&ws, Op("Ftrl", {"w", "nz", "g", "alpha"}, {"w2", "nz2"}, args));
  ExpectTensor(ws, "w2", {n}, next_w, 1e-4f);
  ExpectTensor(ws, "nz2", {n, 2}, next_state, 1e-4f);
  args.push_back(MakeArgument<float>("alpha", 0.5f));
  RunOp(&ws, Op("Ftrl", {"w", "nz", "g"}, {"w", "nz"}, args));
  ExpectTensor(ws, "w", {n}, next_w, 1e-4f);
  ExpectThrows(&ws, Op("Ftrl", {"w", "w", "g"}, {"a", "b"}),
               "n_z must have 2 values for each element of the parameter: it has shape [20], the "
               "parameter [20]");
}

// The roots of the sums before and after a small gradient differ by less than their rounding.
TEST(FtrlTest, SmallGradientsCountBesideLargeSums) {
  Workspace ws;
  const float n = 1000, z = 0.25f, g = 0.01f, w = 100;
  Feed<float>(&ws, "w", {1}, {w});
  Feed<float>(&ws, "nz", {1, 2}, {n, z});
  Feed<float>(&ws, "g", {1}, {g});
  RunOp(&ws, Op("Ftrl", {"w", "nz", "g"}, {"w", "nz"}, {MakeArgument<float>("alpha", 0.005f)}));
  const double sigma = (std::sqrt(double{n} + double{g} * g) - std::sqrt(double{n})) / 0.005;
  EXPECT_NEAR(FetchValues<float>(ws, "nz")[1], z + g - sigma * w, 1e-6);

  Feed<float>(&ws, "nz", {1, 2}, {0, z});
  Feed<float>(&ws, "g", {1}, {0});
  RunOp(&ws, Op("Ftrl", {"w", "nz", "g"}, {"w", "nz"}));
  EXPECT_EQ(FetchValues<float>(ws, "nz"), std::vector<float>({0, z}));
}

}  // namespace
}  // namespace caffe2::testing
