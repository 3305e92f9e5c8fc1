// Adadelta, dense and sparse, and DecayAdagrad.
#include <cmath>

#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// A parameter p [3, 2] with the states h and d, a gradient g of its shape, and rows r of gradients
// for rows i.
class RateOptimizerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<float>(&ws, "p", {3, 2}, p);
    Feed<float>(&ws, "h", {3, 2}, h);
    Feed<float>(&ws, "d", {3, 2}, d);
    Feed<float>(&ws, "g", {3, 2}, g);
    Feed<float>(&ws, "lr", {1}, {-0.5f});
    Feed<int>(&ws, "i", {2}, {2, 0});
    Feed<float>(&ws, "r", {2, 2}, {-1, 2, 0.5f, 0});
    Feed<float>(&ws, "short", {1, 2}, {1, 1});
  }

  // What `update(i, gradient)` says of the elements that have a gradient, `old` of the others.
  template <typename Update>
  std::vector<float> Rows(const std::vector<float>& old, const Update& update) {
    std::vector<float> all = old;
    const std::vector<float> rows{-1, 2, 0.5f, 0};
    const int at[] = {4, 5, 0, 1};
    for (int k = 0; k < 4; ++k) all[at[k]] = static_cast<float>(update(at[k], rows[k]));
    return all;
  }
  template <typename Update>
  std::vector<float> All(const Update& update) {
    std::vector<float> all;
    for (int i = 0; i < 6; ++i) all.push_back(static_cast<float>(update(i, g[i])));
    return all;
  }

  Workspace ws;
  const std::vector<float> p{1, -1, 0.5f, 2, 0, 3};
  const std::vector<float> h{1, 0.5f, 0, 2, 0.25f, 4};
  const std::vector<float> d{0, 1, 0.5f, 0.25f, 2, 1};
  const std::vector<float> g{1, 0, -2, 0.5f, 3, -1};
};

TEST_F(RateOptimizerTest, AdadeltaStepsInUnitsOfTheParameter) {
  const std::vector<Argument> args{MakeArgument("epsilon", 0.01f), MakeArgument("decay", 0.75f)};
  auto squares = [&](int i, double x) { return 0.75 * h[i] + 0.25 * x * x; };
  auto step = [&](int i, double x) {
    return x * std::sqrt((d[i] + 0.01) / (squares(i, x) + 0.01));
  };
  auto delta = [&](int i, double x) { return 0.75 * d[i] + 0.25 * step(i, x) * step(i, x); };
  auto param = [&](int i, double x) { return p[i] - 0.5 * step(i, x); };
  RunOp(&ws, Op("Adadelta", {"p", "h", "d", "g", "lr"}, {"p2", "h2", "d2"}, args));
  ExpectTensor(ws, "p2", {3, 2}, All(param));
  ExpectTensor(ws, "h2", {3, 2}, All(squares));
  ExpectTensor(ws, "d2", {3, 2}, All(delta));
  ExpectThrows(&ws, Op("SparseAdadelta", {"p", "h", "d", "i", "short", "lr"}, {"p", "h", "d"}),
               "2 rows");
  RunOp(&ws, Op("SparseAdadelta", {"p", "h", "d", "i", "r", "lr"}, {"p", "h", "d"}, args));
  ExpectTensor(ws, "p", {3, 2}, Rows(p, param));
  ExpectTensor(ws, "h", {3, 2}, Rows(h, squares));
  ExpectTensor(ws, "d", {3, 2}, Rows(d, delta));
  ExpectThrows(&ws, Op("Adadelta", {"p", "short", "d", "g", "lr"}, {"p", "h", "d"}),
               "moment [1, 2]");
}

TEST_F(RateOptimizerTest, DecayAdagradHasAFirstMoment) {
  Feed<int64_t>(&ws, "iter", {1}, {2});
  const std::vector<Argument> args{MakeArgument("beta1", 0.5f), MakeArgument("epsilon", 0.1f),
                                   MakeArgument("weight_decay", 0.2f)};
  auto first = [&](int i, double x) { return 0.5 * d[i] + 0.5 * x; };
  auto second = [&](int i, double x) { return h[i] + x * x; };
  auto param = [&](double correction, int i, double x) {
    return p[i] - 0.5 * (correction * first(i, x) / (std::sqrt(second(i, x)) + 0.1) + 0.2 * p[i]);
  };
  const std::vector<std::string> inputs{"p", "d", "h", "g", "lr", "iter"};
  RunOp(&ws, Op("DecayAdagrad", inputs, {"p2", "d2", "h2"}, args));
  ExpectTensor(ws, "d2", {3, 2}, All(first));
  ExpectTensor(ws, "h2", {3, 2}, All(second));
  ExpectTensor(ws, "p2", {3, 2}, All([&](int i, double x) { return param(8. / 7, i, x); }));
  std::vector<Argument> uncorrected = args;
  uncorrected.push_back(MakeArgument("bias_correction_first", 0));
  RunOp(&ws, Op("DecayAdagrad", inputs, {"p", "d", "h"}, uncorrected));
  ExpectTensor(ws, "p", {3, 2}, All([&](int i, double x) { return param(1, i, x); }));
}

TEST_F(RateOptimizerTest, WeightsAreScaledEverySoManyIterations) {
  const auto scaled = [&](int64_t iteration) {
    Feed<int64_t>(&ws, "iter", {1}, {iteration});
    RunOp(&ws, Op("WeightScale", {"p", "iter"}, {"p2"},
                  {MakeArgument("stepsize", 4), MakeArgument("upper_bound_iter", 12),
                   MakeArgument("scale", 0.5f)}));
    const auto values = FetchValues<float>(ws, "p2");
    for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(values[i], p[i] * values[0] / p[0]);
    return values[0] / p[0];
  };
  EXPECT_EQ(scaled(3), 0.5f);
  EXPECT_EQ(scaled(4), 1);
  EXPECT_EQ(scaled(7), 0.5f);
  EXPECT_EQ(scaled(11), 1);  // the bound
  ExpectThrows(&ws, Op("WeightScale", {"p", "iter"}, {"p2"}, {MakeArgument("stepsize", 0)}),
               "stepsize");
}

}  // namespace
}  // namespace caffe2::testing
