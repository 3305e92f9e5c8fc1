#include "caffe2/graph/fusion.h"

#include "caffe2/graph/gradient.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ImageNetBuilder;
using testing::TypesOf;
using testing::ValuesOf;

struct FusedResidualNet : testing::ResidualNet {
  using ResidualNet::ResidualNet;

  void Run(FusionLevel level) {
    removed = FuseOperators(&builder.net(), {level, {}});
    gradients = AddGradientOperators(&builder.net(), {{"loss", ""}});
    ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  }

  int removed = 0;
  std::map<std::string, GradientWrapper> gradients;
};

class FusionTest : public ::testing::TestWithParam<std::string> {};

TEST_P(FusionTest, TrainingComputesTheSame) {
  for (const bool is_test : {false, true}) {
    FusedResidualNet plain(GetParam(), is_test), fused(GetParam(), is_test);
    plain.Run(FusionLevel::kOff);
    fused.Run(FusionLevel::kAll);
    EXPECT_EQ(plain.removed, 0);
    EXPECT_EQ(fused.removed, 3 + 2 * 2);
    EXPECT_EQ(CountType(fused.builder.net(), "SpatialBNRelu"), 3);
    EXPECT_EQ(CountType(fused.builder.net(), "SpatialBNSumRelu"), 2);
    EXPECT_EQ(CountType(fused.builder.net(), "ReluGradient"), 0);
    ExpectClose(ValuesOf(fused.ws, "fc"), ValuesOf(plain.ws, "fc"), 1e-5f, "fc");
    if (!is_test) {
      ExpectClose(ValuesOf(fused.ws, "b_bn2_rm"), ValuesOf(plain.ws, "b_bn2_rm"), 1e-5f, "mean");
    }
    EXPECT_GE(testing::ExpectSameGradients(plain.builder.net(), plain.ws, plain.gradients, fused.ws,
                                           fused.gradients, 1e-5f),
              20);
  }
}

TEST_P(FusionTest, ConvolutionsTakeTheirReluAndSum) {
  std::vector<std::vector<float>> results;
  for (const FusionLevel level : {FusionLevel::kOff, FusionLevel::kAll}) {
    Workspace ws;
    ImageNetBuilder builder(&ws, GetParam(), false);
    builder.Input("data", 2, 4, 6);
    builder.Relu(builder.Conv("data", "a", 4, 8, 3, 1, true), "a");
    builder.Conv("data", "z", 4, 8, 1);
    builder.Relu(builder.Sum(builder.Conv("a", "b", 8, 8, 3), "z", "s"), "c");
    builder.Sum("z", builder.Conv("c", "d", 8, 8, 1, 1, true), "e");
    builder.Add("AveragedLoss", {"e"}, "loss");
    NetDef& net = builder.net();
    FuseOperators(&net, {level, {}});
    if (level == FusionLevel::kAll) {
      EXPECT_EQ(TypesOf(net), std::vector<std::string>(
                                  {"ConvRelu", "Conv", "ConvSumRelu", "ConvSum", "AveragedLoss"}));
    }
    const auto gradients = AddGradientOperators(&net, {{"loss", ""}});
    ASSERT_TRUE(ws.RunNetOnce(net));
    std::vector<float> all = ValuesOf(ws, "e");
    for (const char* blob : {"data", "a_w", "a_b", "b_w", "d_w", "d_b"}) {
      const auto values = ValuesOf(ws, gradients.at(blob).dense);
      all.insert(all.end(), values.begin(), values.end());
    }
    results.push_back(all);
  }
  ExpectClose(results[1], results[0], 1e-5f, "output and gradients");
}

INSTANTIATE_TEST_SUITE_P(Orders, FusionTest, ::testing::Values("NCHW", "NHWC"));

// Conv, SpatialBN and Relu, with what `change` does to them; returns the types after fusion.
std::vector<std::string> TypesAfter(const std::function<void(ImageNetBuilder*)>& change,
                                    const FusionOptions& options = {}) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", false);
  builder.Input("data", 1, 2, 3);
  builder.Relu(builder.Norm(builder.Conv("data", "conv", 2, 2, 1), "bn", 2), "relu");
  change(&builder);
  FuseOperators(&builder.net(), options);
  return TypesOf(builder.net());
}

TEST(FusionRefusalTest, BlobsThatAreReadElsewhereStay) {
  const std::vector<std::string> plain = {"Conv", "SpatialBN", "Relu"};
  const std::vector<std::string> fused = {"Conv", "SpatialBNRelu"};
  EXPECT_EQ(TypesAfter([](ImageNetBuilder*) {}), fused);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder*) {}, {FusionLevel::kOff, {}}), plain);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder*) {}, {FusionLevel::kAll, {"bn"}}), plain);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) { b->net().add_external_output("bn"); }), plain);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) { b->net().mutable_op(1)->set_input(1, "relu"); }),
            plain);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) {
              b->net().mutable_op(2)->mutable_device_option()->set_device_type(CUDA);
            }),
            plain);
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) { b->net().mutable_op(2)->set_output(0, "conv"); }),
            plain);
  std::vector<std::string> longer = plain;
  longer.push_back("Relu");
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) { b->Relu("bn", "other"); }), longer);
  longer.back() = "If";
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) {
              NetDef nested;
              nested.add_op()->add_input("bn");
              SetArgument(b->Add("If", {"data"}, "y"), "then_net", nested);
            }),
            longer);
}

TEST(FusionRefusalTest, OperatorsBetweenThatTouchTheBlobsForbidIt) {
  const std::vector<std::string> plain = {"Conv", "SpatialBN", "Relu", "Relu"};
  // Swaps the last two operators: the added one then stands between the pair.
  const auto between = [](const std::string& x, const std::string& y) {
    return TypesAfter([&](ImageNetBuilder* b) {
      b->Relu(x, y);
      b->net().mutable_op()->SwapElements(2, 3);
    });
  };
  EXPECT_EQ(between("data", "conv"), plain);
  EXPECT_EQ(between("bn_rm", "z"), plain);
  EXPECT_EQ(between("data", "z"), std::vector<std::string>({"Conv", "Relu", "SpatialBNRelu"}));
  // A nested net that writes the input of the head.
  EXPECT_EQ(TypesAfter([](ImageNetBuilder* b) {
              NetDef nested;
              nested.add_op()->add_output("conv");
              SetArgument(b->Add("If", {"data"}, "y"), "then_net", nested);
              b->net().mutable_op()->SwapElements(2, 3);
            }),
            std::vector<std::string>({"Conv", "SpatialBN", "If", "Relu"}));
}

// One operator cannot write two gradients of one blob.
TEST(FusionRefusalTest, ASummandThatIsAlsoTheInputForbidsIt) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", false);
  builder.Input("data", 1, 2, 3);
  builder.Relu(builder.Sum("data", builder.Conv("data", "conv", 2, 2, 1), "sum"), "relu");
  EXPECT_EQ(FuseOperators(&builder.net(), {}), 0);
}

TEST(FusionRefusalTest, LevelsAndTheirNames) {
  EXPECT_EQ(ParseFusionLevel("off"), FusionLevel::kOff);
  EXPECT_EQ(ParseFusionLevel("bn"), FusionLevel::kBatchNorm);
  EXPECT_EQ(ParseFusionLevel("all"), FusionLevel::kAll);
  EXPECT_THROW(ParseFusionLevel("most"), EnforceNotMet);
  const auto conv_relu = [](ImageNetBuilder* b) {
    b->net().mutable_op()->DeleteSubrange(1, 1);
    b->net().mutable_op(1)->set_input(0, "conv");
  };
  EXPECT_EQ(TypesAfter(conv_relu, {FusionLevel::kBatchNorm, {}}),
            std::vector<std::string>({"Conv", "Relu"}));
  EXPECT_EQ(TypesAfter(conv_relu), std::vector<std::string>({"ConvRelu"}));
}

}  // namespace
}  // namespace caffe2
