#include <algorithm>
#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/optimizer/optimizer_test_util.h"

namespace caffe2::testing {
namespace {

TEST_F(SparseOptimizerTest, AdagradUpdatesRowsAsTheDenseOneDoes) {
  const std::vector<Argument> adagrad{MakeArgument<float>("epsilon", 1e-2f),
                                      MakeArgument<float>("decay", 0.75f),
                                      MakeArgument<float>("weight_decay", 0.25f)};
  ExpectSameAsDense(Op("SparseAdagrad", {"p", "v", "i", "g", "lr"}, {"p", "v"}, adagrad),
                    Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v"}, adagrad), {"p", "v"});
}

TEST_F(SparseOptimizerTest, RowsThatComeTwiceAreUpdatedTwice) {
  Feed<float>(&ws, "p", {2, 1}, {1, 5});
  Feed<float>(&ws, "v", {2, 1}, {0, 0});
  Feed<float>(&ws, "g", {2, 1}, {3, 4});
  Feed<int32_t>(&ws, "i", {2}, {0, 0});
  RunOp(&ws, Op("SparseAdagrad", {"p", "v", "i", "g", "lr"}, {"p", "v"},
                {MakeArgument<float>("epsilon", 0.f)}));
  ExpectTensor(ws, "v", {2, 1}, {25, 0});
  ExpectTensor(ws, "p", {2, 1}, {1 - 0.1f - 0.08f, 5});
}

TEST_F(SparseOptimizerTest, RowWiseOnesHaveOneRateForEachRow) {
  auto p = FetchValues<float>(ws, "p"), m = FetchValues<float>(ws, "m"),
       v = FetchValues<float>(ws, "row_v");
  const auto g = FetchValues<float>(ws, "g");
  const auto mean_square = [&g](int r) {
    return (g[3 * r] * g[3 * r] + g[3 * r + 1] * g[3 * r + 1] + g[3 * r + 2] * g[3 * r + 2]) / 3;
  };
  for (int r = 0; r < 2; ++r) {
    const int row = r == 0 ? 3 : 1;
    v[row] += mean_square(r);
    for (int j = 0; j < 3; ++j) {
      p[row * 3 + j] -= 0.1f / (std::sqrt(v[row]) + 1e-2f) * g[3 * r + j];
    }
  }
  const std::vector<Argument> epsilon{MakeArgument<float>("epsilon", 1e-2f)};
  RunOp(&ws, Op("RowWiseSparseAdagrad", {"p", "row_v", "i", "g", "lr"}, {"p", "row_v"}, epsilon));
  ExpectTensor(ws, "p", {5, 3}, p);
  ExpectTensor(ws, "row_v", {5}, v);

  const double correction = std::sqrt(1 - std::pow(0.999, 5)) / (1 - std::pow(0.9, 5));
  std::vector<float> steps;
  for (int r = 0; r < 2; ++r) {
    const int row = r == 0 ? 3 : 1;
    v[row] = 0.999f * v[row] + 0.001f * mean_square(r);
    for (int j = 0; j < 3; ++j) {
      float& first = m[row * 3 + j];
      first = 0.9f * first + 0.1f * g[3 * r + j];
      steps.push_back(static_cast<float>(correction * first / (std::sqrt(v[row]) + 1e-2)));
      p[row * 3 + j] -= 0.1f * steps.back();
    }
  }
  RunOp(&ws, Op("RowWiseSparseAdam", {"p", "m", "row_v", "i", "g", "lr", "iter"},
                {"p", "m", "row_v", "steps"}, epsilon));
  ExpectTensor(ws, "steps", {2, 3}, steps);
  ExpectTensor(ws, "p", {5, 3}, p);
  ExpectTensor(ws, "m", {5, 3}, m);
  ExpectTensor(ws, "row_v", {5}, v);
}

// As the update of float, rounded once.
TEST_F(SparseOptimizerTest, AdagradUpdatesRowsOfFloat16) {
  const std::vector<Argument> decay{MakeArgument<float>("weight_decay", 0.25f)};
  for (const auto& [type, state] :
       {std::pair{"SparseAdagrad", "v"}, {"RowWiseSparseAdagrad", "row_v"}}) {
    SetUp();
    std::vector<float16> half;
    std::vector<float> exact;
    for (const float value : FetchValues<float>(ws, "p")) {
      half.push_back(ToFloat16(value));
      exact.push_back(ToFloat(half.back()));
    }
    Feed(&ws, "p", {5, 3}, exact);
    Feed(&ws, "half", {5, 3}, half);
    RunOp(&ws, Op("Copy", {state}, {"state"}));
    RunOp(&ws, Op(type, {"p", state, "i", "g", "lr"}, {"p", state}, decay));
    RunOp(&ws, Op(type, {"half", "state", "i", "g", "lr"}, {"half", "state"}, decay));
    const std::vector<float> expected = FetchValues<float>(ws, "p");
    half = FetchValues<float16>(ws, "half");
    for (size_t i = 0; i < half.size(); ++i) {
      EXPECT_NEAR(ToFloat(half[i]), expected[i], 1e-3f * std::fabs(expected[i]) + 1e-6f)
          << type << " " << i;
    }
    ExpectTensor(ws, "state", Fetch(ws, state).sizes(), FetchValues<float>(ws, state));
  }
}

TEST_F(SparseOptimizerTest, WeightDecayOfRowsIsDividedByTheirCounts) {
  auto p = FetchValues<float>(ws, "p"), v = FetchValues<float>(ws, "row_v");
  const auto g = FetchValues<float>(ws, "g");
  const std::vector<double> counts{1, 4, 1, 0, 1};
  const int rows[] = {3, 1};
  for (int r = 0; r < 2; ++r) {
    const int row = rows[r];
    const double decay = counts[row] > 0 ? 0.25 * 6 / counts[row] : 0.25;
    double slope[3], squares = 0;
    for (int j = 0; j < 3; ++j) {
      slope[j] = g[3 * r + j] + decay * p[row * 3 + j];
      squares += slope[j] * slope[j];
    }
    v[row] += static_cast<float>(squares / 3);
    for (int j = 0; j < 3; ++j) {
      p[row * 3 + j] -= static_cast<float>(0.1 / (std::sqrt(v[row]) + 1e-5) * slope[j]);
    }
  }
  Feed<double>(&ws, "counts", {5}, counts);
  RunOp(&ws, Op("RowWiseSparseAdagrad", {"p", "row_v", "i", "g", "lr", "counts"}, {"p", "row_v"},
                {MakeArgument<float>("weight_decay", 0.25f), MakeArgument("counter_halflife", 6)}));
  ExpectTensor(ws, "p", {5, 3}, p);
  ExpectTensor(ws, "row_v", {5}, v);
  Feed<float>(&ws, "floats", {5}, {1, 1, 1, 1, 1});
  ExpectThrows(&ws,
               Op("RowWiseSparseAdagrad", {"p", "row_v", "i", "g", "lr", "floats"}, {"p", "row_v"}),
               "double");
}

TEST_F(SparseOptimizerTest, AdagradRejectsBadInput) {
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "beyond", "g", "lr"}, {"p", "v"}),
               "index 5 at position 1");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "g", "g", "lr"}, {"p", "v"}), "int32 or int64");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "short", "i", "g", "lr"}, {"p", "short"}),
               "moment must have as many elements as the parameter: moment has shape [2], the "
               "parameter [5, 3]");
  ExpectThrows(&ws, Op("RowWiseSparseAdagrad", {"p", "v", "i", "g", "lr"}, {"p", "v"}),
               "must have one element for each row of the parameter");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "i", "g", "lr"}, {"q", "v"}), "place");
}

// A state of another type must not be taken for what its bytes would stand for.
TEST_F(SparseOptimizerTest, RefusesStatesOfAnotherType) {
  const std::vector<OperatorDef> updates = {
      Op("SparseAdagrad", {"p", "m", "i", "g", "lr"}, {"p", "m"}),
      Op("SparseAdam", {"p", "m", "v", "i", "g", "lr", "iter"}, {"p", "m", "v"}),
      Op("SparseAdadelta", {"p", "m", "v", "i", "g", "lr"}, {"p", "m", "v"}),
      Op("SparseMomentumSGDUpdate", {"g", "m", "lr", "p", "i"}, {"g", "m", "p"}),
      Op("SparseNormalize", {"p", "i"}, {"p"}),
      Op("SparseLpRegularizer", {"p", "i"}, {"p"}),
  };
  for (const OperatorDef& update : updates) {
    for (const std::string& name : {std::string("p"), std::string("m"), std::string("v")}) {
      const auto& outputs = update.output();
      if (std::find(outputs.begin(), outputs.end(), name) == outputs.end()) continue;
      for (const std::string& state : {std::string("p"), std::string("m"), std::string("v")}) {
        const int64_t n = 15;
        if (state == name) {
          Feed<double>(&ws, state, {5, 3}, std::vector<double>(n, 1));
        } else {
          Feed<float>(&ws, state, {5, 3}, std::vector<float>(n, 1));
        }
      }
      ExpectThrows(&ws, update, "double");
    }
  }
}

}  // namespace
}  // namespace caffe2::testing
