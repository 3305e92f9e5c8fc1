#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

Argument Text(const char* name, const std::string& value) { return MakeArgument(name, value); }
Argument Int(const char* name, int value) { return MakeArgument<int>(name, value); }
Argument Float(const char* name, float value) { return MakeArgument<float>(name, value); }

// The rate at `iteration` for base_lr 2 and the given arguments.
float RateAt(int64_t iteration, const std::string& policy, std::vector<Argument> args) {
  Workspace ws;
  Feed<int64_t>(&ws, "iter", {}, {iteration});
  args.push_back(Text("policy", policy));
  args.push_back(Float("base_lr", 2));
  RunOp(&ws, Op("LearningRate", {"iter"}, {"lr"}, args));
  EXPECT_EQ(Fetch(ws, "lr").dim(), 0);
  NoteCompared(ws, "lr");  // by each caller
  return FetchValues<float>(ws, "lr").at(0);
}

TEST(LearningRateTest, FollowsEveryPolicy) {
  EXPECT_FLOAT_EQ(RateAt(123, "fixed", {}), 2);
  const std::vector<Argument> step{Int("stepsize", 10), Float("gamma", 0.5f)};
  EXPECT_FLOAT_EQ(RateAt(9, "step", step), 2);
  EXPECT_FLOAT_EQ(RateAt(25, "step", step), 0.5f);
  EXPECT_FLOAT_EQ(RateAt(3, "exp", {Float("gamma", 0.5f)}), 0.25f);
  EXPECT_FLOAT_EQ(RateAt(6, "inv", {Float("gamma", 0.5f), Float("power", 0.5f)}), 1);
  const std::vector<Argument> poly{Int("max_iter", 100), Float("power", 2)};
  EXPECT_FLOAT_EQ(RateAt(50, "poly", poly), 0.5f);
  EXPECT_FLOAT_EQ(RateAt(200, "poly", poly), 0);
  const std::vector<Argument> cosine{Float("max_lr", 3), Float("min_lr", 1), Int("period", 100)};
  EXPECT_FLOAT_EQ(RateAt(0, "cosine", cosine), 6);
  EXPECT_FLOAT_EQ(RateAt(50, "cosine", cosine), 4);
  EXPECT_NEAR(RateAt(99, "cosine", cosine), 2, 1e-2);
  EXPECT_FLOAT_EQ(RateAt(100, "cosine", cosine), 6 * 0.99f);
  const std::vector<Argument> longer{Float("max_lr", 3), Int("period", 100), Float("t_mult", 2),
                                     Float("lr_shrink", 0.5f)};
  EXPECT_FLOAT_EQ(RateAt(200, "cosine", longer), 1.5f);  // in the middle of the second period
  EXPECT_FLOAT_EQ(RateAt(300, "cosine", longer), 1.5f);  // at the start of the third
  const std::vector<Argument> warmup{Int("num_iter", 10), Float("start_multiplier", 0.5f)};
  EXPECT_FLOAT_EQ(RateAt(0, "linearWarmup", warmup), 1);
  EXPECT_FLOAT_EQ(RateAt(5, "linearWarmup", warmup), 1.5f);
  EXPECT_FLOAT_EQ(RateAt(10, "linearWarmup", warmup), 2);
  const std::vector<Argument> constant{Int("num_iter", 10), Float("multiplier", 0.25f)};
  EXPECT_FLOAT_EQ(RateAt(9, "constantWarmup", constant), 0.5f);
  EXPECT_FLOAT_EQ(RateAt(10, "constantWarmup", constant), 2);
}

TEST(LearningRateTest, AddsTheOffsetToTheCounter) {
  const std::vector<Argument> poly{Int("max_iter", 100), Float("power", 2)};
  for (const int offset : {-30, 0, 40}) {
    std::vector<Argument> shifted = poly;
    shifted.push_back(Int("iter_offset", offset));
    EXPECT_EQ(RateAt(50, "poly", shifted), RateAt(50 + offset, "poly", poly)) << offset;
  }
}

// As Caffe2: a scalar, which is said to have the counter's shape.
TEST(LearningRateTest, ShapeInferredIsTheCounters) {
  Workspace ws;
  Feed<int64_t>(&ws, "iter", {1}, {5});
  const OperatorDef op =
      Op("LearningRate", {"iter"}, {"lr"}, {Text("policy", "fixed"), Float("base_lr", 2)});
  ASSERT_TRUE(ws.RunOperatorOnce(op));
  EXPECT_EQ(Fetch(ws, "lr").dim(), 0);
  const auto inferred = OpSchemaRegistry::Schema("LearningRate")
                            ->InferTensor(op, {CreateTensorShape({1}, TensorProto::INT64)});
  EXPECT_EQ(GetDimsVector(inferred.at(0)), std::vector<int64_t>({1}));
  EXPECT_EQ(inferred.at(0).data_type(), TensorProto::FLOAT);
}

TEST(LearningRateTest, Alternates) {
  const auto rates = [](bool active_first) {
    std::vector<float> rates;
    for (int i = 0; i < 6; ++i) {
      rates.push_back(RateAt(
          i, "alter",
          {Int("active_first", active_first), Int("active_period", 2), Int("inactive_period", 1)}));
    }
    return rates;
  };
  EXPECT_EQ(rates(true), (std::vector<float>{2, 2, 0, 2, 2, 0}));
  EXPECT_EQ(rates(false), (std::vector<float>{0, 2, 2, 0, 2, 2}));
}

TEST(LearningRateTest, ClimbsAndDescendsTheHill) {
  const std::vector<Argument> hill{Int("num_iter", 10), Float("start_multiplier", 0.5f),
                                   Float("gamma", 1), Float("power", 1),
                                   Float("end_multiplier", 0.1f)};
  EXPECT_FLOAT_EQ(RateAt(5, "hill", hill), 1.5f);
  EXPECT_FLOAT_EQ(RateAt(11, "hill", hill), 1);
  EXPECT_FLOAT_EQ(RateAt(100000, "hill", hill), 0.2f);
}

TEST(LearningRateTest, ComposesPolicies) {
  const std::vector<Argument> args{
      MakeArgument("sub_policy_num_iters", std::vector<int64_t>{10, 20}),
      Text("sub_policy_0_policy", "fixed"),
      Float("sub_policy_0_lr_scale", 0.5f),
      Text("sub_policy_1_policy", "step"),
      Int("sub_policy_1_stepsize", 20),
      Float("sub_policy_1_gamma", 0.1f)};
  EXPECT_FLOAT_EQ(RateAt(10, "composite", args), 1);
  EXPECT_FLOAT_EQ(RateAt(11, "composite", args), 2);
  EXPECT_FLOAT_EQ(RateAt(25, "composite", args), 0.2f);
  EXPECT_FLOAT_EQ(RateAt(45, "composite", args), 0.02f);
}

TEST(LearningRateTest, GateAndSlopeChangeOnce) {
  const std::vector<Argument> gate{Int("num_iter", 10), Float("multiplier_1", 0.5f),
                                   Float("multiplier_2", 0.25f)};
  EXPECT_FLOAT_EQ(RateAt(9, "gate", gate), 1);
  EXPECT_FLOAT_EQ(RateAt(10, "gate", gate), 0.5f);
  const std::vector<Argument> slope{Int("num_iter_1", 10), Float("multiplier_1", 1),
                                    Int("num_iter_2", 20), Float("multiplier_2", 0.5f)};
  EXPECT_FLOAT_EQ(RateAt(9, "slope", slope), 2);
  EXPECT_FLOAT_EQ(RateAt(15, "slope", slope), 1.5f);
  EXPECT_FLOAT_EQ(RateAt(30, "slope", slope), 1);
}

TEST(LearningRateTest, RejectsBadArguments) {
  Workspace ws;
  Feed<int64_t>(&ws, "iter", {1}, {0});
  const auto op = [](std::vector<Argument> args) {
    args.push_back(Float("base_lr", 1));
    return Op("LearningRate", {"iter"}, {"lr"}, args);
  };
  ExpectThrows(&ws, op({Text("policy", "steps")}), "linearWarmup");
  ExpectThrows(&ws, op({}), "policy");
  ExpectThrows(&ws, op({Text("policy", "step"), Float("gamma", 1)}), "stepsize");
  ExpectThrows(&ws, op({Text("policy", "step"), Float("gamma", 1), Int("stepsize", 0)}),
               "stepsize");
  Feed<float>(&ws, "iter", {1}, {0});
  ExpectThrows(&ws, op({Text("policy", "fixed")}), "float");
}

}  // namespace
}  // namespace caffe2::testing
