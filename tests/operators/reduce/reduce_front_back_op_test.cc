#include <set>

#include "tests/operators/op_test.h"
#include "tests/operators/reduce/reduce_test_util.h"

namespace caffe2::testing {
namespace {

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
        ExpectTensor(
            ws, "Y", ReducedShape(dims, axes, false),
            ReductionReference(Reductions().at(name), dims, axes, FetchValues<float>(ws, "X")),
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

}  // namespace
}  // namespace caffe2::testing
