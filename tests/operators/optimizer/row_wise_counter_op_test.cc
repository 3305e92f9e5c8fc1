#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

TEST(RowWiseCounterTest, CountsHalveInTime) {
  Workspace ws;
  Feed<int64_t>(&ws, "last", {3}, {0, 2, 6});
  Feed<double>(&ws, "count", {3}, {5, 8, 1});
  Feed<int32_t>(&ws, "rows", {3}, {1, 2, 2});
  Feed<int64_t>(&ws, "iter", {1}, {8});
  const std::vector<Argument> args{MakeArgument<int64_t>("counter_halflife", 3)};
  RunOp(&ws, Op("RowWiseCounter", {"last", "count", "rows", "iter"}, {"last", "count"}, args));
  const double third = 1 + std::pow(0.5, 2. / 3);
  const std::vector<double> counts{5, 1 + 8. / 4, 1 + third};
  ExpectNear(FetchValues<double>(ws, "count"), counts, 1e-12);
  EXPECT_EQ(FetchValues<int64_t>(ws, "last"), (std::vector<int64_t>{0, 8, 8}));
  Feed<int32_t>(&ws, "rows", {1}, {3});
  ExpectThrows(&ws,
               Op("RowWiseCounter", {"last", "count", "rows", "iter"}, {"last", "count"}, args),
               "index 3");
}

// Rows 0 and 1, last updated in `last` and with counts 5 and 8, updated in iteration 6.
void Count(Workspace* ws, const std::vector<int64_t>& last, const std::vector<Argument>& args) {
  Feed<int64_t>(ws, "last", {2}, last);
  Feed<double>(ws, "count", {2}, {5, 8});
  Feed<int64_t>(ws, "rows", {2}, {0, 1});
  Feed<int64_t>(ws, "iter", {1}, {6});
  RunOp(ws, Op("RowWiseCounter", {"last", "count", "rows", "iter"}, {"last", "count"}, args));
}

TEST(RowWiseCounterTest, AnEarlierIterationTakesNothingBack) {
  Workspace ws;
  Count(&ws, {10, 4}, {MakeArgument<int64_t>("counter_halflife", 2)});
  EXPECT_EQ(FetchValues<double>(ws, "count"), (std::vector<double>{1 + 5, 1 + 8. / 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "last"), (std::vector<int64_t>{10, 6}));
}

TEST(RowWiseCounterTest, CountsNothingWithoutAHalflife) {
  const std::vector<std::vector<Argument>> without{{},
                                                   {MakeArgument<int64_t>("counter_halflife", 0)}};
  for (const auto& args : without) {
    Workspace ws;
    Count(&ws, {1, 4}, args);
    EXPECT_EQ(FetchValues<double>(ws, "count"), (std::vector<double>{5, 8}));
    EXPECT_EQ(FetchValues<int64_t>(ws, "last"), (std::vector<int64_t>{1, 4}));
  }
}

}  // namespace
}  // namespace caffe2::testing
