#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

constexpr int64_t kSize = 40001;  // more than one part

// Parameter p, gradient g, two states and a learning rate of -0.1 (these operators add).
class OptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "p", {kSize}, 1);
    FeedRandom(&ws, "g", {kSize}, 2);
    FeedRandom(&ws, "m", {kSize}, 3);
    FeedRandom(&ws, "v", {kSize}, 4, 0, 1);
    Feed<float>(&ws, "lr", {1}, {-0.1f});
    Feed<int64_t>(&ws, "iter", {1}, {4});
    Feed<float>(&ws, "short", {2}, {1, 2});
    p = FetchValues<float>(ws, "p");
    g = FetchValues<float>(ws, "g");
    m = FetchValues<float>(ws, "m");
    v = FetchValues<float>(ws, "v");
  }

  // What `value(i)` says for every element.
  template <typename Value>
  std::vector<float> All(const Value& value) {
    std::vector<float> all;
    for (int64_t i = 0; i < kSize; ++i) all.push_back(static_cast<float>(value(i)));
    return all;
  }
  void Expect(const std::string& name, const std::vector<float>& expected) {
    ExpectTensor(ws, name, {kSize}, expected, 1e-5f, 1e-6f);
  }

  Workspace ws;
  std::vector<float> p, g, m, v;
};

TEST_F(OptimizerTest, AdamFollowsThePaper) {
  const std::vector<Argument> args{MakeArgument<float>("beta1", 0.8f),
                                   MakeArgument<float>("beta2", 0.95f),
                                   MakeArgument<float>("epsilon", 1e-3f)};
  const auto first = All([&](int64_t i) { return 0.8 * m[i] + 0.2 * g[i]; });
  const auto second = All([&](int64_t i) { return 0.95 * v[i] + 0.05 * g[i] * g[i]; });
  const double correction = std::sqrt(1 - std::pow(0.95, 5)) / (1 - std::pow(0.8, 5));
  const auto step =
      All([&](int64_t i) { return correction * first[i] / (std::sqrt(second[i]) + 1e-3); });
  const auto param = All([&](int64_t i) { return p[i] - 0.1 * step[i]; });
  RunOp(&ws, Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p2", "m2", "v2", "s"}, args));
  Expect("m2", first);
  Expect("v2", second);
  Expect("s", step);
  Expect("p2", param);
  RunOp(&ws, Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p", "m", "v"}, args));
  Expect("m", first);
  Expect("v", second);
  Expect("p", param);
}

TEST_F(OptimizerTest, AdagradSumsSquares) {
  const std::vector<Argument> args{MakeArgument<float>("epsilon", 1e-3f),
                                   MakeArgument<float>("decay", 0.9f)};
  const auto moment = All([&](int64_t i) { return 0.9 * v[i] + g[i] * g[i]; });
  const auto rate = All([&](int64_t i) { return -0.1 / (std::sqrt(moment[i]) + 1e-3); });
  const auto update = All([&](int64_t i) { return rate[i] * g[i]; });
  const auto param = All([&](int64_t i) { return p[i] + update[i]; });
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p2", "v2", "rate", "update"}, args));
  Expect("v2", moment);
  Expect("rate", rate);
  Expect("update", update);
  Expect("p2", param);
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v"}, args));
  Expect("v", moment);
  Expect("p", param);
}

TEST_F(OptimizerTest, AdagradDecaysWeights) {
  const std::vector<Argument> args{MakeArgument<float>("weight_decay", 0.5f)};
  const auto slope = All([&](int64_t i) { return g[i] + 0.5 * p[i]; });
  const auto moment = All([&](int64_t i) { return v[i] + slope[i] * slope[i]; });
  const auto update =
      All([&](int64_t i) { return -0.1 * slope[i] / (std::sqrt(moment[i]) + 1e-5); });
  const auto param = All([&](int64_t i) { return p[i] + update[i]; });
  RunOp(&ws, Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v", "rate", "update"}, args));
  Expect("v", moment);
  Expect("update", update);
  Expect("p", param);
}

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

TEST_F(OptimizerTest, RejectBadShapes) {
  ExpectThrows(&ws, Op("Adam", {"p", "m", "short", "g", "lr", "iter"}, {"p", "m", "short"}),
               "moment_2 [2]");
  ExpectThrows(&ws, Op("Adam", {"p", "m", "v", "g", "short", "iter"}, {"p", "m", "v"}), "scalar");
  ExpectThrows(&ws, Op("Adagrad", {"p", "v", "short", "lr"}, {"p", "v"}), "gradient [2]");
  ExpectThrows(&ws, Op("RmsProp", {"g", "v", "short", "lr"}, {"g", "v", "short"}), "momentum [2]");
}

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
  ExpectThrows(&ws, Op("Ftrl", {"w", "w", "g"}, {"a", "b"}), "two values");
}

TEST(LarsTest, RescalesByNorms) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {3, 4});
  Feed<float>(&ws, "dX", {2}, {0, 10});
  Feed<float>(&ws, "wd", {1}, {0.25f});
  Feed<float>(&ws, "trust", {1}, {2});
  Feed<float>(&ws, "max", {1}, {0.5f});
  RunOp(&ws, Op("Lars", {"X", "dX"}, {"r"}, {MakeArgument<float>("offset", 0.5f)}));
  ExpectTensor(ws, "r", {1}, {0.4f});  // 1 / (10 / 5 + 0.5)
  const auto offset = MakeArgument<float>("offset", 1.75f);
  RunOp(&ws, Op("Lars", {"X", "dX", "wd", "trust", "max"}, {"r"}, {offset}));
  ExpectTensor(ws, "r", {1}, {0.5f});  // 2 / (2 + 0.25 + 1.75)
  Feed<float>(&ws, "max", {1}, {0.3f});
  RunOp(&ws, Op("Lars", {"X", "dX", "wd", "trust", "max"}, {"r"}, {offset}));
  ExpectTensor(ws, "r", {1}, {0.3f});
  Feed<float>(&ws, "X", {2}, {0, 0});
  RunOp(&ws, Op("Lars", {"X", "dX"}, {"r"}));
  ExpectTensor(ws, "r", {1}, {1});
  Feed<float>(&ws, "dX", {1}, {0});
  ExpectThrows(&ws, Op("Lars", {"X", "dX"}, {"r"}), "gradient [1]");
  ExpectThrows(&ws, Op("Lars", {"X", "X", "X"}, {"r"}), "inputs");
}

TEST(ClipTensorTest, ScalesDownToTheThreshold) {
  const auto threshold = MakeArgument<float>("threshold", 2.f);
  for (const char* type : {"ClipTensorByScaling", "ClipTensorByNorm"}) {
    Workspace ws;
    Feed<float>(&ws, "X", {2}, {6, 8});
    Feed<float>(&ws, "norm", {}, {10});
    RunOp(&ws, Op(type, {"X", "norm"}, {"Y"}, {threshold}));
    ExpectTensor(ws, "Y", {2}, {1.2f, 1.6f});
    Feed<float>(&ws, "more", {1}, {4});
    RunOp(&ws, Op(type, {"X", "norm", "more"}, {"X"}, {threshold}));
    ExpectTensor(ws, "X", {2}, {4.8f, 6.4f});
    Feed<float>(&ws, "norm", {}, {1.5f});
    RunOp(&ws, Op(type, {"X", "norm"}, {"Y"}, {threshold}));
    ExpectTensor(ws, "Y", {2}, {4.8f, 6.4f});
    ExpectThrows(&ws, Op(type, {"X", "X"}, {"Y"}, {threshold}), "scalar");
    ExpectThrows(&ws, Op(type, {"X", "norm"}, {"Y"}), "threshold");
  }
}

}  // namespace
}  // namespace caffe2::testing
