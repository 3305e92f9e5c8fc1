#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

using Shape = std::vector<int64_t>;

struct Reduction {
  double init;
  std::function<double(double, double)> combine;
  std::function<double(double, double)> finish;  // (value, count)
};

const std::map<std::string, Reduction>& Reductions() {
  const auto keep = [](double v, double) { return v; };
  static const std::map<std::string, Reduction> reductions = {
      {"Sum", {0, [](double a, double x) { return a + x; }, keep}},
      {"Mean",
       {0, [](double a, double x) { return a + x; }, [](double v, double n) { return v / n; }}},
      {"Max", {-INFINITY, [](double a, double x) { return std::max(a, x); }, keep}},
      {"Min", {INFINITY, [](double a, double x) { return std::min(a, x); }, keep}},
      {"L1", {0, [](double a, double x) { return a + std::fabs(x); }, keep}},
      {"L2",
       {0, [](double a, double x) { return a + x * x; },
        [](double v, double) { return std::sqrt(v); }}}};
  return reductions;
}

// Index by index: element i of x goes to the result at its kept coordinates.
std::vector<float> Reference(const Reduction& reduction, const Shape& dims,
                             const std::set<int>& axes, const std::vector<float>& x) {
  int64_t results = 1;
  for (size_t d = 0; d < dims.size(); ++d) results *= axes.count(d) ? 1 : dims[d];
  std::vector<double> y(results, reduction.init);
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t rest = i, target = 0, stride = 1;
    for (int d = static_cast<int>(dims.size()) - 1; d >= 0; --d) {
      if (!axes.count(d)) {
        target += rest % dims[d] * stride;
        stride *= dims[d];
      }
      rest /= dims[d];
    }
    y[target] = reduction.combine(y[target], x[i]);
  }
  std::vector<float> result;
  for (double v : y) result.push_back(reduction.finish(v, static_cast<double>(x.size()) / results));
  return result;
}

Shape OutputShape(const Shape& dims, const std::set<int>& axes, bool keepdims) {
  Shape shape;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (!axes.count(d)) {
      shape.push_back(dims[d]);
    } else if (keepdims) {
      shape.push_back(1);
    }
  }
  return shape;
}

TEST(ReduceOpTest, AnyAxes) {
  const std::vector<std::pair<Shape, std::set<int>>> cases = {
      {{2, 3, 4, 5}, {0}},    {{2, 3, 4, 5}, {3}},
      {{2, 3, 4, 5}, {1, 2}}, {{2, 3, 4, 5}, {0, 2}},
      {{2, 3, 4, 5}, {1, 3}}, {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{1, 7}, {0}},          {{5}, {0}},
      {{300, 200}, {0}},      {{300, 200}, {1}},
      {{40, 50, 60}, {1}},    {{50, 1, 1000}, {0, 2}}};
  for (const auto& [name, reduction] : Reductions()) {
    for (const auto& [dims, axes] : cases) {
      for (const bool keepdims : {true, false}) {
        Workspace ws;
        FeedRandom(&ws, "X", dims, 5);
        RunOp(&ws, Op("Reduce" + name, {"X"}, {"Y"},
                      {MakeArgument("axes", std::vector<int>(axes.begin(), axes.end())),
                       MakeArgument("keepdims", keepdims)}));
        ExpectTensor(ws, "Y", OutputShape(dims, axes, keepdims),
                     Reference(reduction, dims, axes, FetchValues<float>(ws, "X")), 1e-5f, 2e-5f);
      }
    }
  }
}

TEST(ReduceOpTest, DefaultsAndEdges) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, 2, 3, 4});
  RunOp(&ws, Op("ReduceSum", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {1, 1}, {10});
  RunOp(&ws,
        Op("ReduceSum", {"X"}, {"Y"}, {MakeArgument("axes", -1), MakeArgument("keepdims", 0)}));
  ExpectTensor(ws, "Y", {2}, {3, 7});
  Feed<float>(&ws, "none", {2, 0}, {});
  RunOp(&ws, Op("ReduceSum", {"none"}, {"Y"}, {MakeArgument("axes", 1)}));
  ExpectTensor(ws, "Y", {2, 1}, {0, 0});
  RunOp(&ws, Op("ReduceSum", {"none"}, {"Y"}, {MakeArgument("axes", 0)}));
  ExpectTensor(ws, "Y", {1, 0}, {});
  Feed<float>(&ws, "nan", {3}, {1, NAN, 2});
  RunOp(&ws, Op("ReduceMax", {"nan"}, {"Y"}));
  ExpectTensor(ws, "Y", {1}, {NAN});
  Feed<int64_t>(&ws, "ints", {3}, {1, 5, 3});
  RunOp(&ws, Op("ReduceMean", {"ints"}, {"Y"}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), std::vector<int64_t>{3});
  ExpectThrows(&ws, Op("ReduceSum", {"X"}, {"Y"}, {MakeArgument("axes", 2)}), "out of range");
  ExpectThrows(&ws, Op("ReduceSum", {"X"}, {"Y"}, {MakeArgument("axes", std::vector<int>{1, -1})}),
               "twice");
}

TEST(ReduceOpTest, LongSumsStayAccurate) {
  Workspace ws;
  const int64_t n = 1 << 22;
  Feed<float>(&ws, "X", {n}, std::vector<float>(n, 0.1f));
  RunOp(&ws, Op("ReduceSum", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {1}, {static_cast<float>(0.1f * static_cast<double>(n))}, 1e-5f);
}

TEST(ReduceOpTest, Gradients) {
  for (const auto& [name, reduction] : Reductions()) {
    for (const std::vector<int>& axes : {std::vector<int>{}, {0}, {1}, {0, 2}}) {
      for (const bool keepdims : {true, false}) {
        Workspace ws;
        FeedRandom(&ws, "X", {2, 3, 2}, 8, -1.f, 1.f, 0.05f);
        std::vector<Argument> args = {MakeArgument("keepdims", keepdims)};
        if (!axes.empty()) args.push_back(MakeArgument("axes", axes));
        CheckGradient(&ws, Op("Reduce" + name, {"X"}, {"Y"}, args), {0});
      }
    }
  }
}

TEST(ReduceFrontBackOpTest, MatchesReduceOverTheSameAxes) {
  for (const char* name : {"Sum", "Mean", "Max"}) {
    for (int reduced = 1; reduced <= 3; ++reduced) {
      for (const bool front : {true, false}) {
        Workspace ws;
        const Shape dims = {3, 4, 5};
        // Distinct values: the gradient of a maximum jumps where two are near each other.
        std::vector<float> values(60);
        for (int i = 0; i < 60; ++i) values[i] = 0.1f * static_cast<float>(i * 37 % 60) - 3.f;
        Feed(&ws, "X", dims, values);
        std::set<int> axes;
        for (int k = 0; k < reduced; ++k) axes.insert(front ? k : 2 - k);
        const OperatorDef op = Op(std::string(front ? "ReduceFront" : "ReduceBack") + name, {"X"},
                                  {"Y"}, {MakeArgument("num_reduce_dim", reduced)});
        RunOp(&ws, op);
        ExpectTensor(ws, "Y", OutputShape(dims, axes, false),
                     Reference(Reductions().at(name), dims, axes, FetchValues<float>(ws, "X")),
                     1e-5f, 1e-5f);
        CheckGradient(&ws, op, {0});
      }
    }
  }
}

TEST(ReduceFrontBackOpTest, Lengths) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 20, 3, 4, 5, 6});
  Feed<int32_t>(&ws, "columns", {2}, {2, 1});
  Feed<int32_t>(&ws, "rows", {3}, {1, 2, 1});
  const auto expect = [&ws](const char* type, const char* lengths, std::vector<float> expected) {
    const OperatorDef op = Op(type, {"X", lengths}, {"Y"});
    RunOp(&ws, op);
    ExpectTensor(ws, "Y", {static_cast<int64_t>(expected.size())}, expected);
    CheckGradient(&ws, op, {0});
  };
  expect("ReduceFrontSum", "columns", {4, 20});
  expect("ReduceFrontMean", "columns", {2, 20});
  expect("ReduceFrontMax", "columns", {3, 20});
  expect("ReduceBackSum", "rows", {1, 7, 5});
  expect("ReduceBackMean", "rows", {1, 3.5f, 5});
  expect("ReduceBackMax", "rows", {1, 4, 5});
  Feed<int32_t>(&ws, "columns", {2}, {0, 4});
  ExpectThrows(&ws, Op("ReduceFrontSum", {"X", "columns"}, {"Y"}), "out of range");
  ExpectThrows(&ws, Op("ReduceFrontSum", {"X", "rows"}, {"Y"}), "one length");
  Feed<int32_t>(&ws, "columns", {2}, {0, 1});
  ExpectThrows(&ws, Op("ReduceFrontMax", {"X", "columns"}, {"Y"}), "no elements");
  ExpectThrows(&ws, Op("ReduceFrontSum", {"X"}, {"Y"}, {MakeArgument("num_reduce_dim", 3)}),
               "out of range");
}

TEST(SumElementsOpTest, SumsAndMeans) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2}, {1, -2, 3, 4});
  const auto average = MakeArgument("average", 1);
  RunOp(&ws, Op("SumElements", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {6});
  RunOp(&ws, Op("SumElements", {"X"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {1.5f});
  RunOp(&ws, Op("SumSqrElements", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {}, {30});
  RunOp(&ws, Op("SumSqrElements", {"X"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {7.5f});
  CheckGradient(&ws, Op("SumElements", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("SumElements", {"X"}, {"Y"}, {average}), {0});
  Feed<int32_t>(&ws, "ints", {3}, {1, 2, 3});
  RunOp(&ws, Op("SumElementsInt", {"ints"}, {"Y"}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), std::vector<int32_t>{6});
  Feed<float>(&ws, "none", {0}, {});
  RunOp(&ws, Op("SumElements", {"none"}, {"Y"}, {average}));
  ExpectTensor(ws, "Y", {}, {0});
}

TEST(MatrixMaxOpTest, RowsAndColumns) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 2, 3}, {1, 9, 3, 4, 5, 6, -1, -2, -3, -9, -8, -7});
  RunOp(&ws, Op("RowwiseMax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 2}, {9, 6, -1, -7});
  RunOp(&ws, Op("ColwiseMax", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2, 3}, {4, 9, 6, -1, -2, -3});
  CheckGradient(&ws, Op("RowwiseMax", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("ColwiseMax", {"X"}, {"Y"}), {0});
  FeedRandom(&ws, "flat", {2, 3}, 1);
  ExpectThrows(&ws, Op("RowwiseMax", {"flat"}, {"Y"}), "batch of matrices");
  Feed<float>(&ws, "none", {2, 0, 3}, {});
  ExpectThrows(&ws, Op("ColwiseMax", {"none"}, {"Y"}), "no elements");
}

TEST(SumReduceLikeOpTest, SumsToAPartOfTheShape) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  Feed<float>(&ws, "B", {2}, {0, 0});
  Feed<float>(&ws, "one", {1}, {0});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}));
  ExpectTensor(ws, "C", {2}, {16, 20});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}, {MakeArgument("axis", 1)}));
  ExpectTensor(ws, "C", {2}, {14, 22});
  RunOp(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}, {MakeArgument("axis_str", std::string("N"))}));
  ExpectTensor(ws, "C", {2}, {10, 26});
  RunOp(&ws, Op("SumReduceLike", {"A", "one"}, {"C"}));
  ExpectTensor(ws, "C", {1}, {36});
  RunOp(&ws, Op("SumReduceLike", {"A", "A"}, {"C"}));
  ExpectTensor(ws, "C", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  FeedRandom(&ws, "B", {3}, 1);
  ExpectThrows(&ws, Op("SumReduceLike", {"A", "B"}, {"C"}), "mismatch");
}

TEST(NanCheckOpTest, FailsOnNanAndInfinity) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, 2});
  RunOp(&ws, Op("NanCheck", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {2}, {1, 2});
  CheckGradient(&ws, Op("NanCheck", {"X"}, {"Y"}), {0});
  Feed<float>(&ws, "bad", {2}, {1, NAN});
  ExpectThrows(&ws, Op("NanCheck", {"bad", "X"}, {"Y"}), "element 1 is nan: bad float [2]");
  Feed<float>(&ws, "bad", {2}, {-INFINITY, 0});
  ExpectThrows(&ws, Op("NanCheck", {"bad"}, {"bad"}), "element 0 is -inf");
}

TEST(ReduceSideGradientTest, TakesAShape) {
  Workspace ws;
  Feed<float>(&ws, "dY", {2}, {3, 6});
  Feed<int64_t>(&ws, "shape", {2}, {2, 3});
  RunOp(&ws, Op("ReduceBackMeanGradient", {"dY", "shape"}, {"dX"}), true);
  ExpectTensor(ws, "dX", {2, 3}, {1, 1, 1, 2, 2, 2});
  Feed<int64_t>(&ws, "shape", {2}, {3, 2});
  RunOp(&ws, Op("ReduceFrontSumGradient", {"dY", "shape"}, {"dX"}), true);
  ExpectTensor(ws, "dX", {3, 2}, {3, 6, 3, 6, 3, 6});
}

}  // namespace
}  // namespace caffe2::testing
