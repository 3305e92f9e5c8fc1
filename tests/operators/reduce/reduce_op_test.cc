#include <cmath>
#include <set>

#include "caffe2/utils/narrow_float.h"
#include "tests/operators/op_test.h"
#include "tests/operators/reduce/reduce_test_util.h"

namespace caffe2::testing {
namespace {

TEST(ReduceOpTest, AnyAxes) {
  const std::vector<std::pair<Shape, std::set<int>>> cases = {
      {{2, 3, 4, 5}, {0}},     {{2, 3, 4, 5}, {3}},
      {{2, 3, 4, 5}, {1, 2}},  {{2, 3, 4, 5}, {0, 2}},
      {{2, 3, 4, 5}, {1, 3}},  {{2, 3, 4, 5}, {0, 1, 2, 3}},
      {{1, 7}, {0}},           {{5}, {0}},
      {{300, 200}, {0}},       {{300, 200}, {1}},
      {{40, 50, 60}, {1}},     {{50, 1, 1000}, {0, 2}},
      {{37, 3}, {1}},          {{33, 16}, {1}},
      {{21, 31}, {1}},         {{7, 33}, {1}},
      {{2, 5000}, {1}},        {{40000}, {0}},
      {{9, 13}, {0}},          {{17, 1000}, {0}},
      {{4, 9, 6, 33}, {1, 3}}, {{3, 20, 19}, {0, 2}}};
  for (const auto& [name, reduction] : Reductions()) {
    for (const auto& [dims, axes] : cases) {
      for (const bool keepdims : {true, false}) {
        Workspace ws;
        FeedRandom(&ws, "X", dims, 5);
        RunOp(&ws, Op("Reduce" + name, {"X"}, {"Y"},
                      {MakeArgument("axes", std::vector<int>(axes.begin(), axes.end())),
                       MakeArgument("keepdims", keepdims)}));
        ExpectTensor(ws, "Y", ReducedShape(dims, axes, keepdims),
                     ReductionReference(reduction, dims, axes, FetchValues<float>(ws, "X")), 1e-5f,
                     2e-5f);
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

// Small integers have exact sums in every type.
template <typename T>
void ExpectExactReductions() {
  const auto convert = [](const std::vector<float>& from) {
    std::vector<T> to;
    for (const float x : from) to.push_back(Narrow<T>(static_cast<ArithmeticType<T>>(x)));
    return to;
  };
  const std::vector<std::pair<Shape, int>> cases = {{{35, 5}, 1},  {{35, 20}, 1}, {{6, 100}, 1},
                                                    {{9, 530}, 0}, {{19, 3}, 0},  {{1, 9000}, 1}};
  for (const auto& [dims, axis] : cases) {
    std::vector<float> x(dims[0] * dims[1]);
    for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>((i * 7) % 5) - 2;
    Workspace ws;
    Feed<T>(&ws, "X", dims, convert(x));
    for (const char* name : {"Sum", "Max", "Min"}) {
      RunOp(&ws, Op(std::string("Reduce") + name, {"X"}, {"Y"}, {MakeArgument("axes", axis)}));
      const auto y = ReductionReference(Reductions().at(name), dims, {axis}, x);
      EXPECT_EQ(FetchValues<T>(ws, "Y"), convert(y)) << name << " over axis " << axis;
    }
  }
}
TEST(ReduceOpTest, TakesEveryType) {
  ExpectExactReductions<double>();
  ExpectExactReductions<int32_t>();
  ExpectExactReductions<int64_t>();
  ExpectExactReductions<bfloat16>();
  ExpectExactReductions<float16>();
}

TEST(ReduceOpTest, NanAndInfinityWinAnywhere) {
  const std::vector<std::pair<Shape, int>> cases = {
      {{16, 5}, 1}, {{16, 20}, 1}, {{5, 37}, 1}, {{9, 5}, 0}, {{3, 40}, 0}};
  for (const auto& [dims, axis] : cases) {
    const int64_t n = dims[0] * dims[1];
    for (int64_t at = 0; at < n; ++at) {
      const int64_t result = axis == 0 ? at % dims[1] : at / dims[1];
      for (const float value : {NAN, INFINITY, -INFINITY}) {
        Workspace ws;
        std::vector<float> x(n, 1.f), y(n / dims[axis], 1.f);
        x[at] = value;
        Feed<float>(&ws, "X", dims, x);
        for (const bool max : {true, false}) {
          const bool wins = std::isnan(value) || (value > 0) == max;
          y[result] = wins ? value : 1.f;
          RunOp(&ws, Op(max ? "ReduceMax" : "ReduceMin", {"X"}, {"Y"},
                        {MakeArgument("axes", axis), MakeArgument("keepdims", 0)}));
          ExpectTensor(ws, "Y", {dims[1 - axis]}, y, 0, 0);
        }
      }
    }
  }
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
