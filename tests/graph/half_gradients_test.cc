#include "caffe2/graph/half_gradients.h"

#include <gtest/gtest.h>

#include "caffe2/core/argument.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

using Names = std::vector<std::string>;

OperatorDef* Add(NetDef* net, const std::string& type, const Names& inputs, const Names& outputs,
                 const std::vector<Argument>& args = {}) {
  *net->add_op() = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
  OperatorDef* op = net->mutable_op(net->op_size() - 1);
  op->mutable_device_option()->set_device_type(CUDA);
  return op;
}

// Two filters and what normalizes behind them, after FuseUpdates and AddFilterCopies.
struct TrainingNet {
  TrainingNet() {
    const auto convert = MakeArgument("float_gradients", true),
               no_bias = MakeArgument("no_bias", 1);
    Add(&net, "ConvGradient", {"x", "u_half", "dy"}, {"u_grad", "dx"}, {no_bias, convert});
    Add(&net, "SpatialBNGradient", {"x"}, {"dx", "s_grad"});
    Add(&net, "NormReluConvStatsGradient", {"x", "norm", "w_half", "dy"}, {"w_grad", "g", "dnorm"},
        {convert});
    Add(&net, "AllreduceBucket", {"cw", "s_grad"}, {"s_grad"})->set_name("bucket_0");
    OperatorDef* mixed = Add(&net, "AllreduceBucket", {"cw", "w_grad", "b_grad", "u_grad"},
                             {"w_grad", "b_grad", "u_grad"}, {MakeArgument("flat", true)});
    mixed->set_name("bucket_1");
    mixed->add_control_input("s_grad");
    Add(&net, "CheckFinite", {"scale", "s_grad", "w_grad", "b_grad", "u_grad"}, {"inf", "used"});
    Add(&net, "MultiMomentumSGDUpdate",
        {"s_grad", "w_grad", "b_grad", "u_grad", "s_m", "w_m", "b_m", "u_m", "lr", "s", "w", "b",
         "u", "inf", "used"},
        {"s_m", "w_m", "b_m", "u_m", "s", "w", "b", "u", "w_half", "u_half"},
        {MakeArgument("weight_decay", std::vector<float>{0, 1, 2, 3}),
         MakeArgument("copied", std::vector<int>{1, 3}), MakeArgument("flat", true),
         MakeArgument("momentum", 0.9f)});
    arenas.push_back({{CUDA, 0},
                      {"s_grad", "w_grad", "b_grad", "u_grad"},
                      {{"s_m", "w_m", "b_m", "u_m"}},
                      {"s", "w", "b", "u"},
                      {"", "w_half", "", "u_half"},
                      TensorProto::FLOAT16});
  }
  NetDef net;
  std::vector<ParameterArena> arenas;
};

Names Inputs(const OperatorDef& op) { return {op.input().begin(), op.input().end()}; }
Names Outputs(const OperatorDef& op) { return {op.output().begin(), op.output().end()}; }

TEST(HalfGradientsTest, DividesUpdatesAndBuckets) {
  TrainingNet train;
  EXPECT_EQ(KeepFilterGradientsIn16Bit(&train.net, &train.arenas), 2);
  const NetDef& net = train.net;
  ASSERT_EQ(net.op_size(), 9);
  for (const int conv : {0, 2}) {
    EXPECT_FALSE(ArgumentHelper(net.op(conv)).HasArgument("float_gradients"));
  }
  EXPECT_EQ(net.op(3).name(), "bucket_0");
  // The last gradient comes last, as what waits for the whole bucket waits for it.
  EXPECT_EQ(Inputs(net.op(4)), (Names{"cw", "b_grad"}));
  EXPECT_EQ(net.op(4).control_input(0), "s_grad");
  EXPECT_EQ(Inputs(net.op(5)), (Names{"cw", "w_grad", "u_grad"}));
  EXPECT_EQ(Outputs(net.op(5)), (Names{"w_grad", "u_grad"}));
  EXPECT_EQ(net.op(5).control_input(0), "b_grad");
  EXPECT_NE(net.op(4).name(), net.op(5).name()) << "shards tell operations by their names";
  EXPECT_EQ(net.op(6).input_size(), 5) << "one check for both types";
  EXPECT_EQ(Inputs(net.op(7)),
            (Names{"w_grad", "u_grad", "w_m", "u_m", "lr", "w", "u", "inf", "used"}));
  EXPECT_EQ(Outputs(net.op(7)), (Names{"w_m", "u_m", "w", "u", "w_half", "u_half"}));
  const ArgumentHelper filters(net.op(7)), rest(net.op(8));
  EXPECT_EQ(filters.GetRepeatedArgument<float>("weight_decay"), (std::vector<float>{1, 3}));
  EXPECT_EQ(filters.GetRepeatedArgument<int>("copied"), (std::vector<int>{0, 1}));
  EXPECT_EQ(filters.GetSingleArgument<float>("momentum", 0), 0.9f);
  EXPECT_EQ(Inputs(net.op(8)),
            (Names{"s_grad", "b_grad", "s_m", "b_m", "lr", "s", "b", "inf", "used"}));
  EXPECT_EQ(Outputs(net.op(8)), (Names{"s_m", "b_m", "s", "b"}));
  EXPECT_TRUE(rest.GetRepeatedArgument<int>("copied").empty());
  ASSERT_EQ(train.arenas.size(), 2u);
  EXPECT_EQ(train.arenas[0].gradient_type, TensorProto::FLOAT16);
  EXPECT_EQ(train.arenas[0].params, (Names{"w", "u"}));
  EXPECT_EQ(train.arenas[0].copies, (Names{"w_half", "u_half"}));
  EXPECT_EQ(train.arenas[1].gradient_type, TensorProto::FLOAT);
  EXPECT_EQ(train.arenas[1].states[0], (Names{"s_m", "b_m"}));
  EXPECT_TRUE(train.arenas[1].copies.empty());
}

TEST(HalfGradientsTest, GradientsThatOthersTouchStayFloat) {
  TrainingNet read;
  Add(&read.net, "Scale", {"u_grad"}, {"norm_of_u"});
  EXPECT_EQ(KeepFilterGradientsIn16Bit(&read.net, &read.arenas), 1);
  EXPECT_EQ(read.arenas[0].params, Names{"w"});
  EXPECT_EQ(read.arenas[1].params, (Names{"s", "b", "u"}));
  EXPECT_EQ(read.arenas[1].copies, (Names{"", "", "u_half"}));

  TrainingNet biased;  // the bias has no copy to tell its type by
  SetArgument(biased.net.mutable_op(0), "no_bias", 0);
  EXPECT_EQ(KeepFilterGradientsIn16Bit(&biased.net, &biased.arenas), 1);

  TrainingNet plain;
  plain.arenas[0].copies.clear();
  const std::string before = plain.net.SerializeAsString();
  EXPECT_EQ(KeepFilterGradientsIn16Bit(&plain.net, &plain.arenas), 0);
  EXPECT_EQ(plain.net.SerializeAsString(), before);
  EXPECT_EQ(plain.arenas.size(), 1u);
}

}  // namespace
}  // namespace caffe2
