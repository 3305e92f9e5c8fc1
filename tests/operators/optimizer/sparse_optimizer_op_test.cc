// Optimizers of rows, Wngrad, Storm, GFtrl, ScatterAssign, SparseNormalize, SparseLpRegularizer,
// YellowFin.
#include <algorithm>
#include <cmath>

#include "tests/core/log_lines.h"
#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

// A parameter of 5 rows of 3, two states, and gradients of rows 3 and 1.
class SparseOptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    FeedRandom(&ws, "p", {5, 3}, 1);
    FeedRandom(&ws, "m", {5, 3}, 2);
    FeedRandom(&ws, "v", {5, 3}, 3, 0, 1);
    FeedRandom(&ws, "row_v", {5}, 4, 0, 1);
    FeedRandom(&ws, "g", {2, 3}, 5);
    Feed<int64_t>(&ws, "i", {2}, {3, 1});
    Feed<float>(&ws, "lr", {1}, {-0.1f});
    Feed<int64_t>(&ws, "iter", {1}, {4});
    FeedRandom(&ws, "short", {2}, 6);
    Feed<int32_t>(&ws, "beyond", {2}, {0, 5});
  }

  // Applies the dense operator to the rows alone; the sparse one must do the same to them and
  // leave the others as they are. `states`: names of the parameter and what changes with it.
  void ExpectSameAsDense(const OperatorDef& sparse, OperatorDef dense,
                         const std::vector<std::string>& states) {
    std::vector<std::vector<float>> expected;
    for (const std::string& name : states) {
      expected.push_back(FetchValues<float>(ws, name));
      RunOp(&ws, Op("Gather", {name, "i"}, {name + "_rows"}));
    }
    for (std::string* name : Names(&dense)) {
      if (std::find(states.begin(), states.end(), *name) != states.end()) *name += "_rows";
    }
    RunOp(&ws, Op("Copy", {"g"}, {"g_copy"}));
    ASSERT_TRUE(ws.RunOperatorOnce(dense));
    RunOp(&ws, Op("Copy", {"g_copy"}, {"g"}));
    RunOp(&ws, sparse);
    const std::vector<int64_t> rows = FetchValues<int64_t>(ws, "i");
    for (size_t k = 0; k < states.size(); ++k) {
      const std::vector<float> updated = FetchValues<float>(ws, states[k] + "_rows");
      const size_t width = updated.size() / rows.size();
      for (size_t r = 0; r < rows.size(); ++r) {
        std::copy_n(&updated[r * width], width, &expected[k][rows[r] * width]);
      }
      SCOPED_TRACE(sparse.type() + " " + states[k]);
      if (TestsCuda()) {  // the reference ran on the host
        ExpectTensor(ws, states[k], Fetch(ws, states[k]).sizes(), expected[k], 1e-6f, 1e-7f);
      } else {
        EXPECT_EQ(FetchValues<float>(ws, states[k]), expected[k]);
      }
    }
  }

  static std::vector<std::string*> Names(OperatorDef* op) {
    std::vector<std::string*> names;
    for (std::string& name : *op->mutable_input()) names.push_back(&name);
    for (std::string& name : *op->mutable_output()) names.push_back(&name);
    return names;
  }

  Workspace ws;
};

TEST_F(SparseOptimizerTest, UpdateRowsAsTheDenseOnesDo) {
  const std::vector<Argument> adagrad{MakeArgument<float>("epsilon", 1e-2f),
                                      MakeArgument<float>("decay", 0.75f),
                                      MakeArgument<float>("weight_decay", 0.25f)};
  ExpectSameAsDense(Op("SparseAdagrad", {"p", "v", "i", "g", "lr"}, {"p", "v"}, adagrad),
                    Op("Adagrad", {"p", "v", "g", "lr"}, {"p", "v"}, adagrad), {"p", "v"});
  const std::vector<Argument> adam{MakeArgument<float>("beta1", 0.8f),
                                   MakeArgument<float>("beta2", 0.95f)};
  ExpectSameAsDense(
      Op("SparseAdam", {"p", "m", "v", "i", "g", "lr", "iter"}, {"p", "m", "v"}, adam),
      Op("Adam", {"p", "m", "v", "g", "lr", "iter"}, {"p", "m", "v"}, adam), {"p", "m", "v"});
  for (const int nesterov : {0, 1}) {
    const std::vector<Argument> momentum{MakeArgument<float>("momentum", 0.9f),
                                         MakeArgument("nesterov", nesterov)};
    ExpectSameAsDense(
        Op("SparseMomentumSGDUpdate", {"g", "m", "lr", "p", "i"}, {"g", "m", "p"}, momentum),
        Op("MomentumSGDUpdate", {"g", "m", "lr", "p"}, {"g", "m", "p"}, momentum), {"m", "p"});
  }
  FeedRandom(&ws, "nz", {5, 3, 2}, 7, 0.1f, 1);
  ExpectSameAsDense(Op("SparseFtrl", {"p", "nz", "i", "g"}, {"p", "nz"}),
                    Op("Ftrl", {"p", "nz", "g"}, {"p", "nz"}), {"p", "nz"});
  Feed<float>(&ws, "alpha", {1}, {0.3f});
  ExpectSameAsDense(Op("SparseFtrl", {"p", "nz", "i", "g", "alpha"}, {"p", "nz"}),
                    Op("Ftrl", {"p", "nz", "g", "alpha"}, {"p", "nz"}), {"p", "nz"});
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

TEST_F(SparseOptimizerTest, RectifiedAdamWaitsForTheVariance) {
  // By the formulas of Liu et al., in double; the length is that of the approximated average.
  const auto g = FetchValues<float>(ws, "g");
  std::vector<double> p, m, v;
  for (const float x : FetchValues<float>(ws, "p")) p.push_back(x);
  for (const float x : FetchValues<float>(ws, "m")) m.push_back(x);
  for (const float x : FetchValues<float>(ws, "v")) v.push_back(x);
  const double beta1 = 0.8, beta2 = 0.9, most = 2 / (1 - beta2) - 1;
  int plain = 0, rectified = 0;
  for (int64_t iter = 0; iter < 12; ++iter) {
    const double t = static_cast<double>(iter) + 1;
    const double length = most - 2 * t * std::pow(beta2, t) / (1 - std::pow(beta2, t));
    ++(length >= 5 ? rectified : plain);
    for (int k = 0; k < 6; ++k) {
      const int at = (k < 3 ? 3 : 1) * 3 + k % 3;
      m[at] = beta1 * m[at] + (1 - beta1) * g[k];
      v[at] = beta2 * v[at] + (1 - beta2) * g[k] * g[k];
      double step = m[at] / (1 - std::pow(beta1, t));
      if (length >= 5) {
        const double root = std::sqrt(v[at]) / std::sqrt(1 - std::pow(beta2, t));
        step *= std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) /
                root;
      }
      p[at] -= 0.1 * step;
    }
    Feed<int64_t>(&ws, "iter", {1}, {iter});
    RunOp(&ws, Op("SparseAdam", {"p", "m", "v", "i", "g", "lr", "iter"}, {"p", "m", "v"},
                  {MakeArgument<float>("beta1", 0.8f), MakeArgument<float>("beta2", 0.9f),
                   MakeArgument<float>("epsilon", 0.f), MakeArgument("enableRAdam", 1)}));
  }
  EXPECT_GT(plain, 2);
  EXPECT_GT(rectified, 2);
  const auto found = FetchValues<float>(ws, "p");
  for (size_t i = 0; i < p.size(); ++i) EXPECT_NEAR(found[i], p[i], 1e-4) << i;
}

TEST_F(SparseOptimizerTest, RejectBadInput) {
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "beyond", "g", "lr"}, {"p", "v"}),
               "index 5 at position 1");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "g", "g", "lr"}, {"p", "v"}), "int32 or int64");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "short", "i", "g", "lr"}, {"p", "short"}),
               "moment [2]");
  ExpectThrows(&ws, Op("RowWiseSparseAdagrad", {"p", "v", "i", "g", "lr"}, {"p", "v"}),
               "for the rows");
  ExpectThrows(&ws, Op("SparseAdam", {"p", "m", "v", "i", "short", "lr", "iter"}, {"p", "m", "v"}),
               "gradient [2]");
  ExpectThrows(&ws, Op("SparseMomentumSGDUpdate", {"g", "m", "short", "p", "i"}, {"g", "m", "p"}),
               "scalar");
  ExpectThrows(&ws, Op("SparseFtrl", {"p", "v", "i", "g"}, {"p", "v"}), "two values");
  ExpectThrows(&ws, Op("SparseAdagrad", {"p", "v", "i", "g", "lr"}, {"q", "v"}), "place");
}

// The rows of a sparse gradient as rows of zeros but for these.
std::vector<float> Dense(const std::vector<float>& g) {
  std::vector<float> dense(15, 0.f);
  std::copy_n(g.begin(), 3, dense.begin() + 9);
  std::copy_n(g.begin() + 3, 3, dense.begin() + 3);
  return dense;
}

TEST_F(SparseOptimizerTest, WngradHasOneRateForAll) {
  Feed<float>(&ws, "b", {1}, {2});
  const auto p = FetchValues<float>(ws, "p"), g = FetchValues<float>(ws, "g"), dense = Dense(g);
  const float rate = -0.1f / 2.5f;
  double squares = 0;
  std::vector<float> expected = p, update;
  for (size_t i = 0; i < p.size(); ++i) {
    squares += double{dense[i]} * dense[i];
    expected[i] += rate * dense[i];
    update.push_back(rate * dense[i]);
  }
  const auto b = static_cast<float>(2 + squares / 2.5);
  Feed(&ws, "dense", {5, 3}, dense);
  const auto epsilon = MakeArgument("epsilon", 0.5f);
  RunOp(&ws, Op("Wngrad", {"p", "b", "dense", "lr"}, {"p1", "b1", "rate", "update"}, {epsilon}));
  ExpectTensor(ws, "p1", {5, 3}, expected);
  ExpectTensor(ws, "b1", {1}, {b});
  ExpectTensor(ws, "rate", {1}, {rate});
  ExpectTensor(ws, "update", {5, 3}, update);
  RunOp(&ws, Op("SparseWngrad", {"p", "b", "i", "g", "lr"}, {"p", "b"}, {epsilon}));
  ExpectTensor(ws, "p", {5, 3}, expected);
  ExpectTensor(ws, "b", {1}, {b});
  ExpectThrows(&ws, Op("Wngrad", {"p", "m", "dense", "lr"}, {"p1", "b1"}), "seq_b");
  ExpectThrows(&ws, Op("SparseWngrad", {"p", "b", "beyond", "g", "lr"}, {"p", "b"}), "index 5");
}

TEST_F(SparseOptimizerTest, StormCorrectsItsMomentum) {
  Feed<float>(&ws, "s", {1}, {0.7f});
  const auto p = FetchValues<float>(ws, "p"), m = FetchValues<float>(ws, "m");
  const auto g = FetchValues<float>(ws, "g"), dense = Dense(g);
  double sum = 0.7;
  for (const float value : g) sum += double{value} * value;
  const double rate = -0.1 * std::pow(0.2 + sum, -1.0 / 3), alpha = 3 * rate * rate;
  std::vector<float> p_dense, m_dense, p_rows = p, m_rows = m;
  for (size_t i = 0; i < p.size(); ++i) {
    m_dense.push_back(static_cast<float>(dense[i] + (1 - alpha) * (m[i] - dense[i])));
    p_dense.push_back(static_cast<float>(p[i] + rate * m_dense[i]));
    const bool updated = i / 3 == 3 || i / 3 == 1;
    if (updated) m_rows[i] = m_dense[i];
    if (updated) p_rows[i] = p_dense[i];
  }
  Feed(&ws, "dense", {5, 3}, dense);
  const std::vector<Argument> args{MakeArgument("momentum", 3.f), MakeArgument("beta", 0.2f)};
  RunOp(&ws, Op("Storm", {"p", "m", "s", "dense", "lr"}, {"p1", "m1", "s1"}, args));
  ExpectTensor(ws, "p1", {5, 3}, p_dense);
  ExpectTensor(ws, "m1", {5, 3}, m_dense);
  ExpectTensor(ws, "s1", {1}, {static_cast<float>(sum)});
  RunOp(&ws, Op("SparseStorm", {"p", "m", "s", "g", "i", "lr"}, {"p", "m", "s"}, args));
  ExpectTensor(ws, "p", {5, 3}, p_rows);
  ExpectTensor(ws, "m", {5, 3}, m_rows);
  ExpectTensor(ws, "s", {1}, {static_cast<float>(sum)});
  ExpectThrows(&ws, Op("Storm", {"p", "m", "v", "dense", "lr"}, {"p", "m", "v"}), "grad_sq_sum");
  ExpectThrows(&ws, Op("SparseStorm", {"p", "m", "s", "short", "i", "lr"}, {"p", "m", "s"}),
               "gradient [2]");
}

// With one row a group is one element: Ftrl. Columns whose z is short become 0.
TEST(GFtrlTest, DropsWholeColumns) {
  Workspace ws;
  const std::vector<Argument> args{MakeArgument("alpha", 0.3f), MakeArgument("lambda1", 0.4f)};
  FeedRandom(&ws, "p", {1, 8}, 1);
  FeedRandom(&ws, "nz", {1, 8, 2}, 2, 0.1f, 1);
  FeedRandom(&ws, "g", {1, 8}, 3);
  RunOp(&ws, Op("Ftrl", {"p", "nz", "g"}, {"expected", "expected_nz"}, args));
  RunOp(&ws, Op("GFtrl", {"p", "nz", "g"}, {"q", "q_nz"}, args));
  ExpectTensor(ws, "q", {1, 8}, FetchValues<float>(ws, "expected"));
  ExpectTensor(ws, "q_nz", {1, 8, 2}, FetchValues<float>(ws, "expected_nz"));

  // n = 0, z = 0: z' = g, n' = g^2. |z'| is 5 in column 0, 1 in column 1; lambda1 sqrt(2) is 2.
  Feed<float>(&ws, "p", {2, 2}, {1, 1, 1, 1});
  Feed<float>(&ws, "nz", {2, 2, 2}, std::vector<float>(8));
  Feed<float>(&ws, "g", {2, 2}, {3, 0.6f, 4, 0.8f});
  Feed<float>(&ws, "alpha", {1}, {1e6f});  // keeps sigma * w small
  RunOp(&ws, Op("GFtrl", {"p", "nz", "g", "alpha"}, {"p", "nz"},
                {MakeArgument("lambda1", std::sqrt(2.f)), MakeArgument("lambda2", 0.5f)}));
  ExpectTensor(ws, "p", {2, 2}, {3 * -0.6f / 0.5f, 0, 4 * -0.6f / 0.5f, 0}, 1e-4f);
  ExpectThrows(&ws, Op("GFtrl", {"p", "nz", "g"}, {"p", "nz"}, {MakeArgument("alpha", 0.f)}),
               "alpha");
  ExpectThrows(&ws, Op("GFtrl", {"p", "alpha", "g"}, {"p", "alpha"}), "two values");
}

TEST(SparseNormalizeTest, ScalesRows) {
  Workspace ws;
  const std::vector<float> p{3, 4, 0.3f, 0.4f, 6, 8, 0, 0};
  Feed(&ws, "p", {4, 2}, p);
  Feed<int32_t>(&ws, "i", {3}, {0, 1, 3});
  RunOp(&ws, Op("SparseNormalize", {"p", "i"}, {"p"}));
  ExpectTensor(ws, "p", {4, 2}, {0.6f, 0.8f, 0.3f, 0.4f, 6, 8, 0, 0});
  Feed(&ws, "p", {4, 2}, p);
  FeedRandom(&ws, "g", {3, 2}, 1);
  RunOp(&ws, Op("SparseNormalize", {"p", "i", "g"}, {"p"},
                {MakeArgument<int>("use_max_norm", 0), MakeArgument<float>("norm", 2.f)}));
  ExpectTensor(ws, "p", {4, 2}, {1.2f, 1.6f, 1.2f, 1.6f, 6, 8, 0, 0});
  Feed<int32_t>(&ws, "i", {1}, {-1});
  ExpectThrows(&ws, Op("SparseNormalize", {"p", "i"}, {"p"}), "index -1");
}

TEST(SparseNormalizeTest, ScalesRowsOfFloat16) {
  Workspace ws;
  Feed<float16>(&ws, "p", {2, 2}, {ToFloat16(3), ToFloat16(4), ToFloat16(0.3f), ToFloat16(0.4f)});
  Feed<int64_t>(&ws, "i", {2}, {0, 1});
  RunOp(&ws, Op("Float16SparseNormalize", {"p", "i"}, {"p"}));
  const auto p = FetchValues<float16>(ws, "p");
  const std::vector<float> expected{0.6f, 0.8f, 0.3f, 0.4f};
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(ToFloat(p[i]), ToFloat(ToFloat16(expected[i]))) << i;
  }
  Feed<float>(&ws, "p", {2, 2}, {3, 4, 3, 4});
  ExpectThrows(&ws, Op("Float16SparseNormalize", {"p", "i"}, {"p"}), "float");
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

// What these keep of a step does not outlive it: a recording may hold no such memory.
TEST_F(SparseOptimizerTest, CudaGraphsHoldStepsOfOneRate) {
  NEED_CUDA();
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  *net.add_op() = Op("Storm", {"p", "m", "one", "v", "lr"}, {"p", "m", "one"});
  *net.add_op() = Op("SparseStorm", {"p", "m", "one", "g", "i", "lr"}, {"p", "m", "one"});
  *net.add_op() = Op("Wngrad", {"p", "one", "v", "lr"}, {"p", "one"});
  *net.add_op() = Op("SparseWngrad", {"p", "one", "i", "g", "lr"}, {"p", "one"});
  Feed<float>(&ws, "one", {1}, {1});
  Workspace expected, actual;
  for (Workspace* each : {&expected, &actual}) {
    for (const char* name : {"p", "m", "v", "g", "i", "one", "lr"}) {
      each->CreateBlob("host")->GetMutable<Tensor>()->CopyFrom(Fetch(ws, name));
      each->RunOperatorOnce(OnCuda(Op("CopyCPUToGPU", {"host"}, {name})));
    }
    net.set_name("net");
    net.set_type(each == &actual ? "cuda_graph" : "simple");
    each->CreateNet(net);
  }
  const LogLines log;
  for (int run = 0; run < 5; ++run) {
    for (Workspace* each : {&expected, &actual}) ASSERT_TRUE(each->RunNet("net"));
    for (const char* name : {"p", "m", "one"}) {
      EXPECT_EQ(OnHost<float>(expected, name), OnHost<float>(actual, name)) << name << run;
    }
  }
  EXPECT_TRUE(log.Contain("net net: 4 of 4 operators recorded in 1 CUDA graphs"));
}

TEST(ScatterAssignTest, WritesRows) {
  Workspace ws;
  Feed<float>(&ws, "X", {3, 2}, {1, 2, 3, 4, 5, 6});
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  Feed<float>(&ws, "S", {2, 2}, {10, 20, 30, 40});
  RunOp(&ws, Op("ScatterAssign", {"X", "i", "S"}, {"X"}));
  ExpectTensor(ws, "X", {3, 2}, {30, 40, 3, 4, 10, 20});
  Feed<std::string>(&ws, "T", {2}, {"a", "b"});
  Feed<std::string>(&ws, "U", {1}, {"c"});
  Feed<int32_t>(&ws, "one", {1}, {1});
  RunOp(&ws, Op("ScatterAssign", {"T", "one", "U"}, {"T"}));
  EXPECT_EQ(FetchValues<std::string>(ws, "T"), (std::vector<std::string>{"a", "c"}));
  ExpectThrows(&ws, Op("ScatterAssign", {"X", "one", "U"}, {"X"}), "one element type");
  ExpectThrows(&ws, Op("ScatterAssign", {"X", "one", "S"}, {"X"}), "must hold 1 rows");
}

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
    EXPECT_NEAR(FetchValues<float>(ws, "lr")[0], reference.lr, 1e-4) << t;
    EXPECT_NEAR(FetchValues<float>(ws, "mu")[0], reference.mu, 1e-4) << t;
    const std::vector<float> p = FetchValues<float>(ws, "p");
    for (int i = 0; i < n; ++i) EXPECT_NEAR(p[i], reference.p[i], 1e-4) << t;
  }
  Feed<int64_t>(&ws, "t", {1}, {0});
  ExpectThrows(&ws, op, "counts from 1");
  Feed(&ws, "cw", {2}, std::vector<float>(2));
  ExpectThrows(&ws, op, "curv_win");
}

TEST(SparseLpRegularizerTest, ShrinksRows) {
  Workspace ws;
  Feed<int64_t>(&ws, "i", {2}, {2, 0});
  const auto run = [&](float p) {
    Feed<float>(&ws, "P", {3, 2}, {1, -1, 2, 3, 0.25f, -0.125f});
    RunOp(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"},
                  {MakeArgument("p", p), MakeArgument("reg_lambda", 0.25f)}));
  };
  run(2);
  ExpectTensor(ws, "P", {3, 2}, {0.75f, -0.75f, 2, 3, 0.1875f, -0.09375f});
  run(1);
  ExpectTensor(ws, "P", {3, 2}, {0.75f, -0.75f, 2, 3, 0, 0});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}, {MakeArgument("p", 3.f)}),
               "must be 1 or 2");
  Feed<int64_t>(&ws, "i", {1}, {3});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}), "index 3");
  Feed<double>(&ws, "P", {4, 1}, {1, 2, 3, 4});
  ExpectThrows(&ws, Op("SparseLpRegularizer", {"P", "i"}, {"P"}), "double");
}

}  // namespace
}  // namespace caffe2::testing
