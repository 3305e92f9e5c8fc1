#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// The formulas of the paper, for one iteration after another, in double.
struct YellowFinReference {
  double lr = 0.5, mu = 0.3, beta = 0.9;
  std::vector<double> p, m, g_mean, curvature;
  double norm = 0, norm2 = 0, log_min = 0, log_max = 0, distance = 0;

  double Average(double value, double* average) const {
    *average = beta * *average + (1 - beta) * value;
    return *average;
  }
  void Step(const std::vector<float>& g, int t, size_t window) {
    double squares = 0, mean = 0;
    const double unbias = 1 / (1 - std::pow(beta, t));
    for (size_t i = 0; i < g.size(); ++i) {
      m[i] = mu * m[i] + lr * g[i];
      p[i] -= m[i];
      squares += g[i] * g[i];
      mean += std::pow(unbias * Average(g[i], &g_mean[i]), 2);
    }
    Average(squares, &norm2);
    Average(std::sqrt(squares), &norm);
    curvature.push_back(std::log(squares));
    if (curvature.size() > window) curvature.erase(curvature.begin());
    const auto [low, high] = std::minmax_element(curvature.begin(), curvature.end());
    const double h_min = std::exp(unbias * Average(*low, &log_min));
    const double h_max = std::exp(unbias * Average(*high, &log_max));
    const double variance = std::max(unbias * norm2 - mean, 1e-6);
    const double d = unbias * Average(norm / norm2, &distance);
    if (t == 1) return;
    // Bisection for the root of (1 - x)^3 = p x in [0, 1].
    const double pull = d * d * h_min * h_min / 2 / variance;
    double low_x = 0, high_x = 1;
    for (int k = 0; k < 100; ++k) {
      const double x = (low_x + high_x) / 2;
      (std::pow(1 - x, 3) > pull * x ? low_x : high_x) = x;
    }
    const double ratio = std::sqrt(h_max / h_min);
    const double next = std::max(low_x * low_x, std::pow((ratio - 1) / (ratio + 1), 2));
    Average(next, &mu);
    Average(std::pow(1 - std::sqrt(next), 2) / h_min, &lr);
  }
};

TEST(YellowFinTest, FollowsThePaper) {
  Workspace ws;
  const int n = 6, window = 3;
  FeedRandom(&ws, "p", {n}, 1);
  for (const char* name : {"m", "ga", "g2a"}) Feed(&ws, name, {n}, std::vector<float>(n));
  Feed<float>(&ws, "lr", {1}, {0.5f});
  Feed<float>(&ws, "mu", {1}, {0.3f});
  Feed(&ws, "cw", {window}, std::vector<float>(window));
  Feed(&ws, "sm", {5}, std::vector<float>(5));
  YellowFinReference reference;
  for (const float value : FetchValues<float>(ws, "p")) reference.p.push_back(value);
  reference.m.resize(n);
  reference.g_mean.resize(n);
  const std::vector<std::string> state{"p", "m", "lr", "mu", "cw", "ga", "g2a", "sm"};
  std::vector<std::string> inputs = state;
  inputs.insert(inputs.end(), {"g", "t"});
  const OperatorDef op =
      Op("YellowFin", inputs, state,
         {MakeArgument("curv_win_width", window), MakeArgument<float>("beta", 0.9f)});
  for (int t = 1; t <= 6; ++t) {
    FeedRandom(&ws, "g", {n}, 10 + t);
    Feed<int64_t>(&ws, "t", {1}, {t});
    reference.Step(FetchValues<float>(ws, "g"), t, window);
    RunOp(&ws, op);
    SCOPED_TRACE(t);
    ExpectNear(FetchValues<float>(ws, "lr"), {reference.lr}, 1e-4);
    ExpectNear(FetchValues<float>(ws, "mu"), {reference.mu}, 1e-4);
    ExpectNear(FetchValues<float>(ws, "p"), reference.p, 1e-4);
  }
  Feed(&ws, "m", {n}, std::vector<double>(n));
  ExpectThrows(&ws, op, "holds double");
  Feed<int64_t>(&ws, "t", {1}, {0});
  ExpectThrows(&ws, op, "the iteration must be at least 1, found 0");
  Feed(&ws, "cw", {2}, std::vector<float>(2));
  ExpectThrows(&ws, op, "curv_win");
}

}  // namespace
}  // namespace caffe2::testing
