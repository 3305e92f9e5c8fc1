#include <cmath>

#include "tests/operators/norm/norm_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(LayerNormTest, MatchesReferenceAtEveryAxis) {
  for (const int axis : {1, 2, -1}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 4}, 1, -2, 5);
    const std::vector<float> x = FetchValues<float>(ws, "X");
    const int64_t d = axis == 1 ? 12 : 4, rows = 24 / d;
    std::vector<float> y, mean, stdev;
    for (int64_t r = 0; r < rows; ++r) {
      const Moments m = MomentsOf(d, [&](int64_t i) -> double { return x[r * d + i]; });
      mean.push_back(static_cast<float>(m.mean));
      stdev.push_back(static_cast<float>(std::sqrt(m.variance + 0.01)));
      for (int64_t i = 0; i < d; ++i) y.push_back((x[r * d + i] - mean[r]) / stdev[r]);
    }
    const OperatorDef op =
        Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"},
           {MakeArgument<int>("axis", axis), MakeArgument<float>("epsilon", 0.01f)});
    RunOp(&ws, op);
    const std::vector<int64_t> row_dims =
        axis == 1 ? std::vector<int64_t>{2, 1} : std::vector<int64_t>{2, 3, 1};
    ExpectTensor(ws, "Y", {2, 3, 4}, y, 1e-4f, 1e-5f);
    ExpectTensor(ws, "mean", row_dims, mean);
    ExpectTensor(ws, "stdev", row_dims, stdev);
    CheckGradient(&ws, op, {0});
  }
}

// Loops run across rows of up to 64 elements, 16 rows at a time; 3000 rows are shared by threads.
TEST(LayerNormTest, NormalizesManyShortRows) {
  for (const int64_t n : {1, 2, 7, 8, 9, 16, 31, 32, 33, 63, 64, 65}) {
    for (const int64_t rows : {1, 15, 16, 17, 3000}) {
      Workspace ws;
      FeedRandom(&ws, "X", {rows, n}, 1, -2, 5);
      std::vector<float> x = Rounded(FetchValues<float>(ws, "X")), y, mean, stdev;
      if (rows > 1) x[n * (rows / 2)] = NAN;
      for (int64_t r = 0; r < rows; ++r) {
        const Moments m = MomentsOf(n, [&](int64_t i) -> double { return x[r * n + i]; });
        mean.push_back(static_cast<float>(m.mean));
        stdev.push_back(static_cast<float>(std::sqrt(m.variance + 0.01)));
        for (int64_t i = 0; i < n; ++i) y.push_back((x[r * n + i] - mean[r]) / stdev[r]);
      }
      const OperatorDef op =
          Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, {MakeArgument<float>("epsilon", 0.01f)});
      for (const bool narrow : {false, true}) {
        if (narrow) {
          Feed(&ws, "X", {rows, n}, ToBFloat16(x));
        } else {
          Feed(&ws, "X", {rows, n}, x);
        }
        RunOp(&ws, op);
        if (narrow) WidenBlob(&ws, "Y");
        ExpectTensor(ws, "Y", {rows, n}, y, narrow ? 1e-2f : 1e-6f, 1e-6f);
        ExpectTensor(ws, "mean", {rows, 1}, mean, 1e-6f, 1e-7f);
        ExpectTensor(ws, "stdev", {rows, 1}, stdev, 1e-6f, 0.f);
      }
    }
  }
}

TEST(LayerNormTest, ScalesAndOffsetsColumns) {
  for (const int axis : {1, 2}) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 4}, 1, -2, 5);
    const int64_t d = axis == 1 ? 12 : 4;
    FeedRandom(&ws, "gamma", {d}, 2, -2, 2);
    FeedRandom(&ws, "beta", {d}, 3, -2, 2);
    const std::vector<Argument> plain{MakeArgument<int>("axis", axis),
                                      MakeArgument<float>("epsilon", 0.01f)};
    std::vector<Argument> affine = plain;
    affine.push_back(MakeArgument("elementwise_affine", true));
    RunOp(&ws, Op("LayerNorm", {"X"}, {"Z", "plain_mean", "plain_stdev"}, plain));
    std::vector<float> y = FetchValues<float>(ws, "Z");
    const auto gamma = FetchValues<float>(ws, "gamma"), beta = FetchValues<float>(ws, "beta");
    for (size_t i = 0; i < y.size(); ++i) y[i] = y[i] * gamma[i % d] + beta[i % d];
    const OperatorDef op = Op("LayerNorm", {"X", "gamma", "beta"}, {"Y", "mean", "stdev"}, affine);
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {2, 3, 4}, y, 1e-5f, 1e-5f);
    CheckGradient(&ws, op, {0, 1, 2});
    ExpectThrows(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, affine), "3 inputs");
    ExpectThrows(&ws, Op("LayerNorm", {"X", "gamma", "beta"}, {"Y", "mean", "stdev"}, plain),
                 "without it 1");
    Feed<float>(&ws, "short", {1}, {1});
    ExpectThrows(&ws, Op("LayerNorm", {"X", "gamma", "short"}, {"Y", "mean", "stdev"}, affine),
                 "beta must have one element");
  }
}

TEST(LayerNormTest, SumsOfNoRowsAreZero) {
  Workspace ws;
  for (const char* blob : {"dY", "Y", "X"}) Feed<float>(&ws, blob, {0, 2}, {});
  for (const char* blob : {"mean", "stdev"}) Feed<float>(&ws, blob, {0, 1}, {});
  Feed<float>(&ws, "gamma", {2}, {1, 2});
  RunOp(&ws, Op("LayerNormGradient", {"dY", "Y", "mean", "stdev", "X", "gamma"},
                {"dX", "dgamma", "dbeta"}, {MakeArgument("elementwise_affine", true)}));
  ExpectTensor(ws, "dX", {0, 2}, {});
  ExpectTensor(ws, "dgamma", {2}, {0, 0});
  ExpectTensor(ws, "dbeta", {2}, {0, 0});
}

TEST(LayerNormTest, KeepsTheVarianceOfFarValuesAndTakesNoRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {1, 2}, {1e6f, 1e6f + 1});
  RunOp(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, {MakeArgument<float>("epsilon", 0.f)}));
  ExpectTensor(ws, "stdev", {1, 1}, {0.5f});
  Feed<float>(&ws, "X", {0, 2}, {});
  RunOp(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}));
  ExpectTensor(ws, "mean", {0, 1}, {});
  ExpectThrows(&ws, Op("LayerNorm", {"X"}, {"Y", "mean", "stdev"}, {MakeArgument<int>("axis", 2)}),
               "axis 2");
}

}  // namespace
}  // namespace caffe2::testing
