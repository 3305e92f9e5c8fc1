#include "caffe2/graph/conv_norm_fusion.h"

#include "caffe2/graph/fusion.h"
#include "caffe2/graph/gradient.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ExpectSameGradients;
using testing::ImageNetBuilder;
using testing::ValuesOf;

// As FuseOperators leaves it.
struct ResidualNet : testing::ResidualNet {
  explicit ResidualNet(const std::string& order, bool is_test = false)
      : testing::ResidualNet(order, is_test) {
    FuseOperators(&builder.net(), {FusionLevel::kAll, {}});
  }
};

class ConvNormFusionTest
    : public ::testing::TestWithParam<std::tuple<std::string, ConvNormFusion>> {};

TEST_P(ConvNormFusionTest, TrainingComputesTheSame) {
  const auto& [order, fusion] = GetParam();
  ResidualNet plain(order), fused(order);
  EXPECT_EQ(FuseConvolutionsWithNorms(&plain.builder.net(), ConvNormFusion::kNone), 0);
  EXPECT_EQ(FuseConvolutionsWithNorms(&fused.builder.net(), fusion), 6);
  const bool prologue = fusion == ConvNormFusion::kPrologue;
  const NetDef& net = fused.builder.net();
  // The first normalization is read by the first block's convolution and its shortcut.
  EXPECT_EQ(CountType(net, "NormReluConvStats"), prologue ? 2 : 0);
  EXPECT_EQ(CountType(net, "ConvStats"), prologue ? 4 : 6);
  // The second block's shortcut is a convolution.
  EXPECT_EQ(CountType(net, "NormSumNormRelu"), 1);
  EXPECT_EQ(CountType(net, "SpatialBNFinalize"), prologue ? 4 : 2);
  EXPECT_EQ(CountType(net, "Conv"), 0);
  const auto expected = AddGradientOperators(&plain.builder.net(), {{"loss", ""}});
  const auto found = AddGradientOperators(&fused.builder.net(), {{"loss", ""}});
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(plain.ws.RunNetOnce(plain.builder.net()));
    ASSERT_TRUE(fused.ws.RunNetOnce(net));
    for (const char* blob : {"fc", "bn_rm", "a_bn1_rm", "a_bn1_riv", "b_bn2_riv"}) {
      ExpectClose(ValuesOf(fused.ws, blob), ValuesOf(plain.ws, blob), 1e-5f, blob);
    }
  }
  EXPECT_GE(ExpectSameGradients(plain.builder.net(), plain.ws, expected, fused.ws, found, 1e-5f),
            20);
}

INSTANTIATE_TEST_SUITE_P(Orders, ConvNormFusionTest,
                         ::testing::Combine(::testing::Values("NCHW", "NHWC"),
                                            ::testing::Values(ConvNormFusion::kStats,
                                                              ConvNormFusion::kPrologue)));

// Bottleneck blocks: identity, projection, identity.
struct BottleneckNet {
  explicit BottleneckNet(const std::string& order) : builder(&ws, order, false) {
    std::string x = builder.Input("data", 2, 4, 6);
    x = builder.Relu(builder.Norm(builder.Conv(x, "conv", 4, 8, 3), "bn", 8), "relu");
    x = Block(x, "a", 8, 8);
    x = Block(x, "b", 8, 12);
    x = Block(x, "c", 12, 12);
    builder.Fc(builder.AveragePool(x, "pool"), "fc", 12, 3);
    builder.Add("AveragedLoss", {"fc"}, "loss");
    FuseOperators(&builder.net(), {FusionLevel::kAll, {}});
  }
  std::string Block(const std::string& x, const std::string& name, int in, int out) {
    const auto layer = [&](const std::string& from, const char* part, int channels, int filters,
                           int kernel) {
      return builder.Norm(builder.Conv(from, name + part + "_conv", channels, filters, kernel),
                          name + part, filters);
    };
    std::string y = builder.Relu(layer(x, "1", in, 4, 1), name + "1_relu");
    y = builder.Relu(layer(y, "2", 4, 4, 3), name + "2_relu");
    y = layer(y, "3", 4, out, 1);
    const std::string shortcut = in == out ? x : layer(x, "0", in, out, 1);
    return builder.Relu(builder.Sum(shortcut, y, name + "_sum"), name + "_out");
  }

  Workspace ws;
  ImageNetBuilder builder;
};

class ResidualFusionTest : public ::testing::TestWithParam<std::string> {};

TEST_P(ResidualFusionTest, TrainingComputesTheSame) {
  BottleneckNet plain(GetParam()), fused(GetParam());
  NetDef& net = fused.builder.net();
  FuseConvolutionsWithNorms(&net, ConvNormFusion::kResidual);
  // The blocks before the last one; the projection reads what the first one writes, and is
  // normalized as the second one ends.
  EXPECT_EQ(CountType(net, "NormSumReluConvStats"), 1);
  EXPECT_EQ(CountType(net, "NormSumNormReluConvStats"), 1);
  EXPECT_EQ(CountType(net, "NormSumNormRelu"), 0);
  EXPECT_EQ(CountType(net, "NormReluConvStats"), 6);
  EXPECT_EQ(CountType(net, "SpatialBNSumRelu"), 1);
  const auto expected = AddGradientOperators(&plain.builder.net(), {{"loss", ""}});
  const auto found = AddGradientOperators(&net, {{"loss", ""}});
  EXPECT_EQ(CountType(net, "NormSumReluConvStatsGradient"), 1);
  EXPECT_EQ(CountType(net, "NormSumNormReluConvStatsGradient"), 1);
  for (int run = 0; run < 2; ++run) {
    ASSERT_TRUE(plain.ws.RunNetOnce(plain.builder.net()));
    ASSERT_TRUE(fused.ws.RunNetOnce(net));
  }
  for (const char* blob : {"fc", "a_out", "b_out", "a3_rm", "b0_riv", "c3_rm"}) {
    ExpectClose(ValuesOf(fused.ws, blob), ValuesOf(plain.ws, blob), 1e-5f, blob);
  }
  EXPECT_GE(ExpectSameGradients(plain.builder.net(), plain.ws, expected, fused.ws, found, 2e-5f),
            30);
}

INSTANTIATE_TEST_SUITE_P(Orders, ResidualFusionTest, ::testing::Values("NCHW", "NHWC"));

// How many blocks end in the next one's convolution: those with a plain, and with a normalized
// shortcut.
using Ends = std::pair<int, int>;
Ends EndsOf(const NetDef& net) {
  return {CountType(net, "NormSumReluConvStats"), CountType(net, "NormSumNormReluConvStats")};
}

TEST(ConvNormFusionRefusalTest, EndsOfBlocksStay) {
  const auto fused = [](const std::function<void(NetDef*)>& change) {
    BottleneckNet net("NHWC");
    change(&net.builder.net());
    FuseConvolutionsWithNorms(&net.builder.net(), ConvNormFusion::kResidual);
    return EndsOf(net.builder.net());
  };
  const auto conv = [](NetDef* net, const std::string& output) {
    for (OperatorDef& op : *net->mutable_op()) {
      if (op.output(0) == output) return &op;
    }
    return static_cast<OperatorDef*>(nullptr);
  };
  EXPECT_EQ(fused([](NetDef*) {}), Ends(1, 1));
  EXPECT_EQ(fused([&](NetDef* net) { SetArgument(conv(net, "b1_conv"), "stride", 2); }),
            Ends(0, 1));
  EXPECT_EQ(fused([&](NetDef* net) { SetArgument(conv(net, "c1_conv"), "kernel", 3); }),
            Ends(1, 0));
  EXPECT_EQ(fused([&](NetDef* net) { net->add_external_output("a3_conv"); }), Ends(0, 1));
  // One of two terms is normalized apart, for a reader elsewhere.
  EXPECT_EQ(fused([&](NetDef* net) { net->add_external_output("b3"); }), Ends(2, 0));
  EXPECT_EQ(fused([&](NetDef* net) {
              conv(net, "c1_conv")->mutable_device_option()->set_device_type(CUDA);
            }),
            Ends(1, 0));
  // The results may be read from outside.
  EXPECT_EQ(fused([&](NetDef* net) {
              for (const char* end : {"a_out", "b_out"}) net->add_external_output(end);
            }),
            Ends(1, 1));
  ResidualNet wide("NHWC");  // 3x3
  FuseConvolutionsWithNorms(&wide.builder.net(), ConvNormFusion::kResidual);
  EXPECT_EQ(EndsOf(wide.builder.net()), Ends(0, 0));
}

// Somebody who reads the end of a block before the next convolution does.
TEST(ConvNormFusionRefusalTest, EndsOfBlocksThatAreReadBeforeStay) {
  for (const std::string end : {"a", "b"}) {
    BottleneckNet net("NHWC");
    NetDef& def = net.builder.net();
    NetDef changed = def;
    changed.clear_op();
    for (const OperatorDef& op : def.op()) {
      *changed.add_op() = op;
      if (op.output(0) != end + "_out") continue;
      *changed.add_op() =
          GradientMakerBase::CreateOperatorDef("Copy", "", {end + "_out"}, {"copy"});
    }
    FuseConvolutionsWithNorms(&changed, ConvNormFusion::kResidual);
    EXPECT_EQ(EndsOf(changed), end == "a" ? Ends(0, 1) : Ends(1, 0));
  }
}

TEST(ConvNormFusionRefusalTest, NetsThatTestStay) {
  ResidualNet test("NHWC", true);
  const std::string before = test.builder.net().SerializeAsString();
  EXPECT_EQ(FuseConvolutionsWithNorms(&test.builder.net(), ConvNormFusion::kPrologue), 0);
  EXPECT_EQ(test.builder.net().SerializeAsString(), before);
}

int Prologues(const std::function<void(NetDef*)>& change, const std::set<std::string>& keep = {}) {
  ResidualNet net("NHWC");
  change(&net.builder.net());
  FuseConvolutionsWithNorms(&net.builder.net(), ConvNormFusion::kPrologue, keep);
  return CountType(net.builder.net(), "NormReluConvStats");
}

TEST(ConvNormFusionRefusalTest, ShortcutsThatAreReadElsewhereAreNormalizedApart) {
  const auto shortcuts = [](const std::function<void(NetDef*)>& change,
                            const std::set<std::string>& keep = {}) {
    ResidualNet net("NHWC");
    change(&net.builder.net());
    FuseConvolutionsWithNorms(&net.builder.net(), ConvNormFusion::kStats, keep);
    return CountType(net.builder.net(), "NormSumNormRelu");
  };
  const auto nothing = [](NetDef*) {};
  EXPECT_EQ(shortcuts(nothing), 1);
  EXPECT_EQ(shortcuts(nothing, {"b_bn2"}), 0);
  EXPECT_EQ(shortcuts(nothing, {"b_bn0_siv"}), 0);
  EXPECT_EQ(shortcuts([](NetDef* net) { net->add_external_output("b_conv2"); }), 0);
  EXPECT_EQ(shortcuts([](NetDef* net) {
              for (OperatorDef& op : *net->mutable_op()) {
                if (op.output(0) == "b_bn2") op.mutable_device_option()->set_device_type(CUDA);
              }
            }),
            0);
}

// What somebody else reads has to be in memory.
TEST(ConvNormFusionRefusalTest, NormalizedImagesThatAreReadElsewhereStay) {
  const auto nothing = [](NetDef*) {};
  EXPECT_EQ(Prologues(nothing), 2);
  EXPECT_EQ(Prologues(nothing, {"a_bn1"}), 1);
  EXPECT_EQ(Prologues(nothing, {"a_bn1_sm"}), 1);
  EXPECT_EQ(Prologues([](NetDef* net) { net->add_external_output("b_bn1"); }), 1);
  const auto reads = [](const std::string& blob) {
    return [blob](NetDef* net) {
      OperatorDef* op = net->add_op();
      op->set_type("Relu");
      op->add_input(blob);
      op->add_output("copy");
    };
  };
  EXPECT_EQ(Prologues(reads("a_bn1")), 1);
  EXPECT_EQ(Prologues(reads("a_conv1")), 1);  // what is normalized
  EXPECT_EQ(Prologues(reads("a_bn1_siv")), 1);
}

TEST(ConvNormFusionRefusalTest, DevicesOrdersAndBiases) {
  const auto stats = [](const std::function<void(NetDef*)>& change) {
    ResidualNet net("NHWC");
    change(&net.builder.net());
    return FuseConvolutionsWithNorms(&net.builder.net(), ConvNormFusion::kStats);
  };
  EXPECT_EQ(stats([](NetDef*) {}), 6);
  EXPECT_EQ(stats([](NetDef* net) {
              net->mutable_op(0)->mutable_device_option()->set_device_type(CUDA);
            }),
            5);
  EXPECT_EQ(
      stats([](NetDef* net) { SetArgument<std::string>(net->mutable_op(0), "order", "NCHW"); }), 5);
  EXPECT_EQ(stats([](NetDef* net) { net->mutable_op(0)->add_input("bias"); }), 5);
}

TEST(ConvNormFusionChoiceTest, ByDeviceOrderAndType) {
  EXPECT_EQ(ChooseConvNormFusion(CUDA, "NHWC", TensorProto::FLOAT16), ConvNormFusion::kResidual);
  EXPECT_EQ(ChooseConvNormFusion(CUDA, "NHWC", TensorProto::BFLOAT16), ConvNormFusion::kStats);
  EXPECT_EQ(ChooseConvNormFusion(CUDA, "NHWC", TensorProto::FLOAT), ConvNormFusion::kNone);
  EXPECT_EQ(ChooseConvNormFusion(CUDA, "NCHW", TensorProto::FLOAT16), ConvNormFusion::kNone);
  EXPECT_EQ(ChooseConvNormFusion(CPU, "NHWC", TensorProto::BFLOAT16), ConvNormFusion::kNone);
  EXPECT_EQ(ParseConvNormFusion("none"), ConvNormFusion::kNone);
  EXPECT_EQ(ParseConvNormFusion("stats"), ConvNormFusion::kStats);
  EXPECT_EQ(ParseConvNormFusion("prologue"), ConvNormFusion::kPrologue);
  EXPECT_EQ(ParseConvNormFusion("residual"), ConvNormFusion::kResidual);
  EXPECT_THROW(ParseConvNormFusion("all"), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
