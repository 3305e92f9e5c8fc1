// SWA, EMA and RowWiseCounter.
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// Runs an operator with "iter" = 0, 1, ... on a parameter that is `iter` squared before each run
// (unless the operator has changed it, which is in `expected`); (parameter, average) of each run.
std::vector<std::pair<float, float>> Averages(const std::string& type,
                                              const std::vector<Argument>& args, int64_t runs) {
  Workspace ws;
  Feed<float>(&ws, "average", {1}, {0});
  std::vector<std::pair<float, float>> seen;
  for (int64_t iter = 0; iter < runs; ++iter) {
    Feed<float>(&ws, "param", {1}, {static_cast<float>(iter * iter)});
    Feed<int64_t>(&ws, "iter", {1}, {iter});
    RunOp(&ws, Op(type, {"param", "average", "iter"}, {"param", "average"}, args));
    for (const char* name : {"param", "average"}) NoteCompared(ws, name);  // by each caller
    seen.emplace_back(FetchValues<float>(ws, "param")[0], FetchValues<float>(ws, "average")[0]);
  }
  return seen;
}

TEST(WeightAverageTest, SwaIsTheMeanOfItsIterations) {
  const auto seen = Averages(
      "SWA",
      {MakeArgument<int64_t>("avg_start", 2), MakeArgument<int64_t>("avg_end", 5),
       MakeArgument<int64_t>("feedback_start", 3), MakeArgument<int64_t>("feedback_step", 2),
       MakeArgument<int64_t>("feedback_end", 6)},
      9);
  const std::vector<float> averages{0, 0, 4, 13.f / 2, 29.f / 3, 54.f / 4, 13.5f, 13.5f, 13.5f};
  const std::vector<float> params{0, 1, 4, averages[3], 16, averages[5], 36, 49, 64};
  for (size_t i = 0; i < averages.size(); ++i) {
    EXPECT_NEAR(seen[i].second, averages[i], 1e-5f) << i;
    EXPECT_NEAR(seen[i].first, params[i], 1e-5f) << i;
  }
}

TEST(WeightAverageTest, EmaForgetsExponentially) {
  const auto seen =
      Averages("EMA",
               {MakeArgument<int64_t>("ema_start", 1), MakeArgument<int64_t>("ema_step", 2),
                MakeArgument<int64_t>("ema_end", 6), MakeArgument<float>("ema_alpha", 0.75f)},
               9);
  double average = 0;
  for (int i = 0; i < 9; ++i) {
    const double param = i * i;
    if (i == 1) average = param;
    if (i == 3 || i == 5) average = 0.75 * average + 0.25 * param;
    EXPECT_FLOAT_EQ(seen[i].first, static_cast<float>(param));
    EXPECT_NEAR(seen[i].second, average, 1e-5) << i;
  }
}

TEST(WeightAverageTest, RejectsBadInput) {
  Workspace ws;
  Feed<float>(&ws, "param", {2}, {1, 2});
  Feed<float>(&ws, "average", {2}, {1, 2});
  Feed<float>(&ws, "short", {1}, {1});
  Feed<int64_t>(&ws, "iter", {1}, {0});
  ExpectThrows(&ws, Op("SWA", {"param", "short", "iter"}, {"param", "short"}),
               "the average must have as many elements as the parameter: the average has shape "
               "[1], the parameter [2]");
  ExpectThrows(&ws,
               Op("EMA", {"param", "average", "iter"}, {"param", "average"},
                  {MakeArgument<float>("ema_alpha", 2.f)}),
               "ema_alpha");
  ExpectThrows(&ws,
               Op("EMA", {"param", "average", "iter"}, {"param", "average"},
                  {MakeArgument<int64_t>("ema_step", 0)}),
               "iterations between");
  Feed<double>(&ws, "double", {2}, {1, 2});
  ExpectThrows(&ws, Op("SWA", {"double", "average", "iter"}, {"double", "average"}),
               "holds double");
}

}  // namespace
}  // namespace caffe2::testing
