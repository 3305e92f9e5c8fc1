#include "caffe2/model/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "caffe2/core/logging.h"
#include "caffe2/core/workspace.h"
#include "caffe2/model/layers.h"
#include "caffe2/model/loss_scale.h"

namespace caffe2 {
namespace {

// One weight w = 3 (and no bias) with the loss w^2 / 2, whose gradient is w.
class OptimizerTest : public ::testing::Test {
 protected:
  OptimizerTest() : model_("m") {
    model_.CreateParameter("w", {1}, ParameterTag::kWeight, "ConstantFill",
                           {MakeArgument("value", 3.f)});
    model_.AddOperator("Mul", {"w", "w"}, {"square"});
    model_.AddOperator("Scale", {"square"}, {"loss"}, {MakeArgument("scale", 0.5f)});
    model_.AddGradientOperators({{"loss", ""}});
  }

  // The learning rate of each of n updates.
  std::vector<float> Rates(const LearningRateOptions& rate, int n) {
    const std::string blob = BuildSgd(&model_, {.learning_rate = rate, .momentum = 0.f});
    Workspace ws;
    EXPECT_TRUE(ws.RunNetOnce(*model_.param_init_net()));
    ws.CreateNet(*model_.net());
    std::vector<float> rates;
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(ws.RunNet("m"));
      rates.push_back(std::abs(*ws.GetBlob(blob)->Get<Tensor>().data<float>()));
    }
    return rates;
  }

  // The weight after each of n updates.
  std::vector<float> Run(int n) {
    Workspace ws;
    EXPECT_TRUE(ws.RunNetOnce(*model_.param_init_net()));
    ws.CreateNet(*model_.net());
    std::vector<float> values;
    for (int i = 0; i < n; ++i) {
      EXPECT_TRUE(ws.RunNet("m"));
      values.push_back(*ws.GetBlob("w")->Get<Tensor>().data<float>());
    }
    iterations_ = *ws.GetBlob("optimizer_iteration")->Get<Tensor>().data<int64_t>();
    return values;
  }

  ModelHelper model_;
  int64_t iterations_ = 0;
};

TEST_F(OptimizerTest, PlainSgdSubtractsTheGradient) {
  EXPECT_EQ(BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.f}),
            "SgdOptimizer_0_lr_cpu");
  EXPECT_EQ(Run(2), (std::vector<float>{1.5f, 0.75f}));
  EXPECT_EQ(iterations_, 2);
  EXPECT_EQ(model_.optimizer_state(), std::vector<std::string>{"optimizer_iteration"});
}

TEST_F(OptimizerTest, TheRateFallsAfterTheSteps) {
  EXPECT_EQ(Rates({.base = 0.5f, .policy = "step", .steps = {2, 3}, .gamma = 0.5f}, 5),
            (std::vector<float>{0.5f, 0.5f, 0.25f, 0.125f, 0.125f}));
}

TEST_F(OptimizerTest, TheRateRisesBeforeItsSteps) {
  const std::vector<float> rates = Rates({.base = 1.f,
                                          .policy = "step",
                                          .steps = {5},
                                          .gamma = 0.5f,
                                          .warmup_iterations = 4,
                                          .warmup_start = 0.2f},
                                         7);
  const std::vector<float> expected = {0.4f, 0.6f, 0.8f, 1.f, 1.f, 0.5f, 0.5f};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_FLOAT_EQ(rates[i], expected[i]) << i;
}

TEST_F(OptimizerTest, TheRateIsHalfACosineFromTheStart) {
  const std::vector<float> rates = Rates(
      {.base = 1.f, .policy = "cosine", .max_iter = 9, .warmup_iterations = 2, .warmup_start = 0.f},
      9);
  EXPECT_FLOAT_EQ(rates[0], 0.5f);
  EXPECT_FLOAT_EQ(rates[1], 1.f);
  for (int i = 3; i <= 9; ++i) {
    EXPECT_NEAR(rates[i - 1], (1 + std::cos(M_PI * i / 10)) / 2, 1e-6) << i;
  }
}

TEST_F(OptimizerTest, MomentumAccumulates) {
  BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.5f, .nesterov = false});
  // v1 = 1.5, w1 = 1.5; v2 = 0.75 + 0.75, w2 = 0.
  EXPECT_EQ(Run(2), (std::vector<float>{1.5f, 0.f}));
  EXPECT_EQ(model_.optimizer_state(),
            (std::vector<std::string>{"optimizer_iteration", "w_momentum"}));
}

TEST_F(OptimizerTest, NesterovLooksAhead) {
  BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.5f, .nesterov = true});
  // v1 = 1.5, step (1 + 0.5) v1 - 0.5 v0 = 2.25.
  EXPECT_FLOAT_EQ(Run(1)[0], 0.75f);
}

TEST_F(OptimizerTest, WeightDecayAddsToTheGradient) {
  AddWeightDecay(&model_, 0.5f);
  BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.f});
  EXPECT_FLOAT_EQ(Run(1)[0], 3.f - 0.5f * (3.f + 0.5f * 3.f));
}

TEST_F(OptimizerTest, TwoDecaysAddUp) {
  AddWeightDecay(&model_, 0.5f);
  AddWeightDecay(&model_, 0.25f);
  BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.f});
  EXPECT_FLOAT_EQ(Run(1)[0], 3.f - 0.5f * (3.f + 0.75f * 3.f));
}

TEST_F(OptimizerTest, ClippingComesBeforeTheDecay) {
  AddGradientClipping(&model_, 2.f);
  AddWeightDecay(&model_, 0.5f);
  BuildSgd(&model_, {.learning_rate = {.base = 0.5f}, .momentum = 0.f});
  EXPECT_FLOAT_EQ(Run(1)[0], 3.f - 0.5f * (2.f + 0.5f * 3.f));
}

TEST_F(OptimizerTest, ScopesAreClippedByThemselves) {
  EXPECT_THROW(AddGradientClipping(&model_, 2.f, {"gpu_0/"}), EnforceNotMet);
  ModelHelper model("m");
  for (const char* replica : {"a", "b"}) {
    const NameScope scope(&model, replica);
    const float value = *replica == 'a' ? 3.f : 8.f;
    const std::string w = model.CreateParameter("w", {1}, ParameterTag::kWeight, "ConstantFill",
                                                {MakeArgument("value", value)});
    model.AddOperator("Mul", {w, w}, {model.Scoped("square")});
    model.AddGradientOperators({{model.Scoped("square"), ""}});  // 2 w
  }
  AddGradientClipping(&model, 4.f, {"a/", "b/"});
  Workspace ws;
  ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
  ASSERT_TRUE(ws.RunNetOnce(*model.net()));
  for (const auto& [scope, norm] : {std::pair("a/", 6.f), std::pair("b/", 16.f)}) {
    const auto value = [&](const std::string& name) {
      return *ws.GetBlob(scope + name)->Get<Tensor>().data<float>();
    };
    EXPECT_FLOAT_EQ(value("gradient_norm"), norm);
    EXPECT_FLOAT_EQ(value("w_grad"), 4.f);
  }
}

// The norm is of gradients without the loss scale. Infinite ones skip the update.
TEST(ClippedLossScaleTest, ClipsAfterTheDivisionAndSkips) {
  for (const float scale : {1024.f, std::numeric_limits<float>::infinity()}) {
    ModelHelper model("m");
    const std::string w = model.CreateParameter("w", {1}, ParameterTag::kWeight, "ConstantFill",
                                                {MakeArgument("value", 3.f)});
    model.AddOperator("Mul", {w, w}, {"square"});
    const LossScaleOptions options = {.scale = scale, .dynamic = false};
    model.AddGradientOperators({{"square", AddLossScale(&model, options)}});
    AddGradientUnscaling(&model, options);
    AddGradientClipping(&model, 2.f);
    BuildSgd(&model, {.learning_rate = {.base = 0.5f}, .momentum = 0.9f, .nesterov = false});
    Workspace ws;
    ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
    ASSERT_TRUE(ws.RunNetOnce(*model.net()));
    const bool skips = scale > 1024;
    EXPECT_EQ(*ws.GetBlob(w)->Get<Tensor>().data<float>(), skips ? 3.f : 2.f);
    EXPECT_EQ(*ws.GetBlob("w_momentum")->Get<Tensor>().data<float>(), skips ? 0.f : 1.f);
  }
}

// The weight has the gradient 3 and the norm 3; so has the parameter with one axis, like the scale
// of a normalization, which keeps the rate. A weight of zeros keeps it, too.
TEST(LarsTest, ScalesTheRateOfEachWeight) {
  constexpr float kRate = 0.5f, kTrust = 0.1f, kDecay = 0.25f;
  for (const float momentum : {0.f, 0.5f}) {
    ModelHelper model("m");
    LossGradients losses;
    const auto add = [&](const std::string& name, const std::vector<int64_t>& shape, float value) {
      model.CreateParameter(name, shape, ParameterTag::kWeight, "ConstantFill",
                            {MakeArgument("value", value)});
      model.AddOperator("Scale", {name}, {name + "_loss"}, {MakeArgument("scale", 3.f)});
      losses.emplace_back(name + "_loss", "");
    };
    add("w", {1, 1}, 3.f);
    add("scale", {1}, 3.f);
    add("zero", {1, 1}, 0.f);
    model.AddGradientOperators(losses);
    BuildSgd(&model, {.learning_rate = {.base = kRate},
                      .momentum = momentum,
                      .nesterov = false,
                      .lars_trust = kTrust,
                      .lars_decay = kDecay});
    Workspace ws;
    ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
    ws.CreateNet(*model.net());
    double w = 3, w_step = 0, scale = 3, scale_step = 0;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(ws.RunNet("m"));
      w_step = momentum * w_step + kRate * kTrust * w / (3 + kDecay * w) * (3 + kDecay * w);
      w -= w_step;
      scale_step = momentum * scale_step + kRate * (3 + kDecay * scale);
      scale -= scale_step;
      const auto value = [&](const std::string& name) {
        return *ws.GetBlob(name)->Get<Tensor>().data<float>();
      };
      EXPECT_NEAR(value("w"), w, 1e-5) << i;
      EXPECT_NEAR(value("scale"), scale, 1e-5) << i;
      if (i == 0) {
        EXPECT_FLOAT_EQ(value("zero"), -kRate * 3);
      }
    }
  }
}

// Not even a step of zero times infinity.
TEST(LarsTest, AGradientOfZerosMakesNoStep) {
  ModelHelper model("m");
  model.CreateParameter("w", {1, 1}, ParameterTag::kWeight, "ConstantFill",
                        {MakeArgument("value", 3.f)});
  model.AddOperator("Scale", {"w"}, {"loss"}, {MakeArgument("scale", 0.f)});
  model.AddGradientOperators({{"loss", ""}});
  BuildSgd(&model, {.learning_rate = {.base = 30.f}, .lars_trust = 100.f});
  Workspace ws;
  ASSERT_TRUE(ws.RunNetOnce(*model.param_init_net()));
  ASSERT_TRUE(ws.RunNetOnce(*model.net()));
  EXPECT_EQ(*ws.GetBlob("w")->Get<Tensor>().data<float>(), 3.f);
}

TEST_F(OptimizerTest, StepPolicyDecays) {
  BuildSgd(&model_,
           {.learning_rate = {.base = 0.5f, .policy = "step", .stepsize = 2, .gamma = 0.5f},
            .momentum = 0.f});
  // The iteration counts from 1, as in Caffe2: the second update is the first with half the rate.
  const auto values = Run(2);
  EXPECT_FLOAT_EQ(values[0], 1.5f);
  EXPECT_FLOAT_EQ(values[1], 1.5f - 0.25f * 1.5f);
}

TEST_F(OptimizerTest, AdamCorrectsItsMoments) {
  BuildAdam(&model_, {.learning_rate = {.base = 0.1f}, .epsilon = 0.f});
  // The counter is 1 at the first update and the operator corrects for one more, as in Caffe2.
  const double correction = std::sqrt(1 - 0.999 * 0.999) / (1 - 0.9 * 0.9);
  const double step = 0.1 * correction * (0.1 * 3) / std::sqrt(0.001 * 9);
  EXPECT_NEAR(Run(1)[0], 3 - step, 1e-4);
}

// The decay does not enter the moments, which hold the gradient w alone.
TEST_F(OptimizerTest, DecoupledDecayShrinksTheWeightBesidesItsStep) {
  BuildAdam(&model_, {.learning_rate = {.base = 0.1f}, .weight_decay = 0.5f});
  const std::vector<float> values = Run(6);
  double w = 3, first = 0, second = 0;
  for (int i = 0; i < 6; ++i) {
    first = 0.9 * first + 0.1 * w;
    second = 0.999 * second + 0.001 * w * w;
    const int t = i + 2;  // as above
    const double correction = std::sqrt(1 - std::pow(0.999, t)) / (1 - std::pow(0.9, t));
    w -= 0.1 * 0.5 * w + 0.1 * correction * first / (std::sqrt(second) + 1e-8);
    EXPECT_NEAR(values[i], w, 1e-4) << i;
  }
}

TEST_F(OptimizerTest, AdagradDividesByTheSumOfSquares) {
  BuildAdagrad(&model_, {.learning_rate = {.base = 0.1f}, .epsilon = 0.f});
  const auto values = Run(2);
  EXPECT_NEAR(values[0], 2.9f, 1e-5);
  EXPECT_NEAR(values[1], 2.9f - 0.1f * 2.9f / std::sqrt(9.f + 2.9f * 2.9f), 1e-5);
}

TEST_F(OptimizerTest, RmsPropDescends) {
  BuildRmsProp(&model_, {.learning_rate = {.base = 0.1f}});
  const auto values = Run(5);
  EXPECT_LT(values[0], 3.f);
  EXPECT_LT(values[4], values[0]);
}

TEST(ModelGradientTest, ParametersWithoutInfluenceHaveNone) {
  ModelHelper model("m");
  brew::FC(&model, "x", "used", 2, 1);
  brew::FC(&model, "x", "unused", 2, 1);
  model.AddGradientOperators({{"used", ""}});
  EXPECT_EQ(model.Gradient("used_w"), "used_w_grad");
  EXPECT_THROW(model.Gradient("unused_w"), EnforceNotMet);
  BuildSgd(&model, {});
  for (const OperatorDef& op : model.net()->op()) {
    for (const std::string& input : op.input()) EXPECT_NE(input, "unused_w_momentum");
  }
}

}  // namespace
}  // namespace caffe2
