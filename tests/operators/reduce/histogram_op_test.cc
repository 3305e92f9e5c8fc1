// Histogram, SelfBinningHistogram, AccumulateHistogram.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Doubles = std::vector<double>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(HistogramTest, CountsBetweenEdges) {
  Workspace ws;
  const OperatorDef op =
      Op("Histogram", {"X", "Y"}, {"H"}, {MakeArgument("bin_edges", Floats{-2, -1, 0, 2, 5, 9})});
  Feed<float>(&ws, "X", {2, 4}, {-2, -2, 0, 0, 0, 1, 2, 3});
  Feed<float>(&ws, "Y", {7}, {4, 6, 9, 9.5f, -2.5f, kInfinity, kNaN});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "H"), (Longs{2, 0, 4, 3, 1}));
  Feed<double>(&ws, "X", {0}, {});
  Feed<double>(&ws, "Y", {1}, {-0.5});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "H"), (Longs{0, 1, 0, 0, 0}));
  Feed<float>(&ws, "Y", {1}, {1});
  ExpectThrows(&ws, op, "where double is needed");
  Feed<int32_t>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, op, "supported: float double");
  const auto edges = [](const Floats& list) {
    return Op("Histogram", {"Y"}, {"H"}, {MakeArgument("bin_edges", list)});
  };
  ExpectThrows(&ws, edges({1}), "argument bin_edges must have at least 2 edges, found 1");
  ExpectThrows(&ws, edges({1, 1}), "strictly increasing");
}

// The search takes 64 elements at a time.
TEST(HistogramTest, CountsLikeALoop) {
  for (const int64_t bins : {1, 2, 3, 4, 7, 16, 100}) {
    for (const int64_t n : {1, 63, 64, 65, 1000}) {
      Workspace ws;
      Floats edges = RandomValues(bins + 1, 7, -1, 1);
      std::sort(edges.begin(), edges.end());
      FeedRandom(&ws, "X", {n}, 8, -1.2f, 1.2f);
      Floats x = FetchValues<float>(ws, "X");
      x[n / 2] = edges[bins / 2];
      x[n - 1] = edges[bins];
      Longs counts(bins);
      for (const float value : x) {
        for (int64_t bin = 0; bin < bins; ++bin) {
          counts[bin] += value >= edges[bin] && value < edges[bin + 1] ? 1 : 0;
        }
      }
      const OperatorDef op = Op("Histogram", {"X"}, {"H"}, {MakeArgument("bin_edges", edges)});
      Feed(&ws, "X", {n}, x);
      RunOp(&ws, op);
      EXPECT_EQ(FetchValues<int64_t>(ws, "H"), counts) << bins << " bins, " << n << " elements";
      Feed(&ws, "X", {n}, Doubles(x.begin(), x.end()));
      RunOp(&ws, op);
      EXPECT_EQ(FetchValues<int64_t>(ws, "H"), counts);
    }
  }
}

TEST(SelfBinningHistogramTest, CountsLikeALoop) {
  for (const bool absolute : {false, true}) {
    Workspace ws;
    FeedRandom(&ws, "X", {1003}, 8, -3, 5);
    const OperatorDef op = Op("SelfBinningHistogram", {"X"}, {"V", "C"},
                              {MakeArgument("num_bins", 37), MakeArgument("abs", absolute)});
    RunOp(&ws, op);
    const auto edges = FetchValues<float>(ws, "V");
    Longs counts(38);
    for (const float x : FetchValues<float>(ws, "X")) {
      const float value = absolute ? std::abs(x) : x;
      for (int bin = 0; bin < 37; ++bin) {
        counts[bin] += value >= edges[bin] && value < edges[bin + 1] ? 1 : 0;
      }
    }
    EXPECT_EQ(FetchValues<int64_t>(ws, "C"), counts);
  }
}

std::vector<Argument> Bins(int64_t bins, const std::string& spacing, bool absolute = false) {
  return {MakeArgument("num_bins", bins), MakeArgument("bin_spacing", spacing),
          MakeArgument("abs", absolute)};
}

TEST(SelfBinningHistogramTest, DividesTheRange) {
  Workspace ws;
  Feed<double>(&ws, "X", {11}, {-2, -2, 0, 0, 0, 1, 2, 3, 4, 6, 9});
  RunOp(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, Bins(5, "linear")));
  EXPECT_EQ(FetchValues<int64_t>(ws, "C"), (Longs{5, 2, 2, 1, 1, 0}));
  const auto values = FetchValues<double>(ws, "V");
  ExpectNear(values, {-2, 0.2, 2.4, 4.6, 6.8, 9}, 1e-12);
  EXPECT_GT(values[5], 9);
  RunOp(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, Bins(5, "linear", true)));
  EXPECT_EQ(FetchValues<int64_t>(ws, "C"), (Longs{4, 4, 1, 1, 1, 0}));
}

TEST(SelfBinningHistogramTest, SpacesByRatio) {
  Workspace ws;
  Feed<float>(&ws, "X", {4}, {-3, 0.5f, 0, 1});
  Feed<float>(&ws, "Y", {3}, {4, 30, 100});
  std::vector<Argument> args = Bins(4, "logarithmic");
  args.push_back(MakeArgument("logspace_start", 0.01f));
  const OperatorDef op = Op("SelfBinningHistogram", {"X", "Y"}, {"V", "C"}, args);
  RunOp(&ws, op);
  ExpectTensor(ws, "V", {5}, {0.01f, 0.1f, 1, 10, 100}, 1e-5f);
  // 1 lies on an edge up to rounding: what counts is the edge that the operator gives.
  const auto edges = FetchValues<float>(ws, "V");
  const int one = edges[2] > 1 ? 1 : 2;
  Longs expected{2, 1, 1, 2, 0};
  ++expected[one];
  EXPECT_EQ(FetchValues<int64_t>(ws, "C"), expected);
  // All above the start: bins begin at the least element.
  Feed<float>(&ws, "X", {1}, {8});
  Feed<float>(&ws, "Y", {2}, {32, 128});
  RunOp(&ws, op);
  ExpectTensor(ws, "V", {5}, {8, 16, 32, 64, 128}, 1e-5f);
}

TEST(SelfBinningHistogramTest, TheStartHasTwoNames) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {0, 100});
  std::vector<Argument> args = Bins(2, "logarithmic");
  args.push_back(MakeArgument("logspacing_start", 0.01f));
  RunOp(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, args));
  ExpectTensor(ws, "V", {3}, {0.01f, 1, 100}, 1e-5f);
  args.push_back(MakeArgument("logspace_start", 1.f));
  RunOp(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, args));
  ExpectTensor(ws, "V", {3}, {1, 10, 100}, 1e-5f);
  args.back() = MakeArgument("logspace_start", 0.f);
  ExpectThrows(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, args),
               "argument logspace_start must be positive, found 0");
}

TEST(SelfBinningHistogramTest, WorksAtTheEdges) {
  Workspace ws;
  for (const std::string spacing : {"linear", "logarithmic"}) {
    const OperatorDef op = Op("SelfBinningHistogram", {"X"}, {"V", "C"}, Bins(3, spacing));
    Feed<float>(&ws, "X", {0}, {});
    RunOp(&ws, op);
    ExpectTensor(ws, "V", {4}, {0, 0, 0, 0});
    EXPECT_EQ(FetchValues<int64_t>(ws, "C"), (Longs{0, 0, 0, 0}));
    Feed<float>(&ws, "X", {2}, {7, 7});
    RunOp(&ws, op);
    ExpectTensor(ws, "V", {4}, {7, 7, 7, 7});
    EXPECT_EQ(FetchValues<int64_t>(ws, "C"), (Longs{2, 0, 0, 0}));
    constexpr float kMaxFloat = std::numeric_limits<float>::max();
    Feed<float>(&ws, "X", {3}, {-kMaxFloat, 0, kMaxFloat});
    RunOp(&ws, op);
    const auto counts = FetchValues<int64_t>(ws, "C");
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), int64_t{0}), 3);
    EXPECT_EQ(counts[3], 0);
    for (const float bad : {kNaN, kInfinity}) {
      Feed<float>(&ws, "X", {2}, {1, bad});
      ExpectThrows(&ws, op, "which no bin can hold");
    }
  }
  ExpectThrows(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, Bins(0, "linear")),
               "argument num_bins must be at least 1, found 0");
  ExpectThrows(&ws, Op("SelfBinningHistogram", {"X"}, {"V", "C"}, Bins(1, "cubic")), "cubic");
}

TEST(AccumulateHistogramTest, AddsUp) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 4}, {0, 0.1f, 1, 1.5f, 2.5f, 3.5f, 4.1f, kNaN});
  const OperatorDef op = Op("AccumulateHistogram", {"X"}, {"now", "all"},
                            {MakeArgument("lower_bound", 0.1f), MakeArgument("upper_bound", 4.1f),
                             MakeArgument("num_buckets", 4)});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<int64_t>(ws, "now"), (Longs{1, 2, 1, 1, 1, 2}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "all"), (Longs{1, 2, 1, 1, 1, 2}));
  const auto twice = CreateOperator(op, &ws);
  twice->Run();
  Feed<float>(&ws, "X", {1}, {-1});
  twice->Run();
  EXPECT_EQ(FetchValues<int64_t>(ws, "now"), (Longs{1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "all"), (Longs{2, 2, 1, 1, 1, 2}));
  ExpectThrows(&ws,
               Op("AccumulateHistogram", {"X"}, {"a", "b"}, {MakeArgument("upper_bound", -1.f)}),
               "argument upper_bound (-1) must be larger than lower_bound (0)");
}

}  // namespace
}  // namespace caffe2::testing
