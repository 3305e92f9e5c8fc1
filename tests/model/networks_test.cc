#include "caffe2/model/networks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "caffe2/core/logging.h"
#include "caffe2/model/layers.h"

namespace caffe2 {
namespace {

std::map<std::string, int> CountTypes(const NetDef& net) {
  std::map<std::string, int> counts;
  for (const OperatorDef& op : net.op()) ++counts[op.type()];
  return counts;
}

const OperatorDef& OperatorWriting(const NetDef& net, const std::string& blob) {
  for (const OperatorDef& op : net.op()) {
    if (op.output_size() > 0 && op.output(0) == blob) return op;
  }
  throw std::runtime_error("nothing writes " + blob);
}

std::vector<int64_t> ShapeOf(const ModelHelper& model, const std::string& param) {
  for (const Parameter& each : model.parameters()) {
    if (each.name == param) return each.shape;
  }
  throw std::runtime_error("no parameter " + param);
}

ModelHelper Build(const std::string& name, const NetworkOptions& options,
                  const std::string& order = "NHWC", bool is_test = false) {
  ModelHelper model(name, {.order = order, .is_test = is_test});
  AddNetwork(&model, name, "data", options);
  return model;
}

// The counts of Caffe2's trainer for ResNet-50.
TEST(NetworksTest, ResNet50HasTheOperatorsOfCaffe2) {
  const ModelHelper model = Build("resnet50", {.image_size = 224});
  auto counts = CountTypes(model.net());
  EXPECT_EQ(counts["Conv"], 53);
  EXPECT_EQ(counts["SpatialBN"], 53);
  EXPECT_EQ(counts["Relu"], 49);
  EXPECT_EQ(counts["Sum"], 16);
  EXPECT_EQ(counts["MaxPool"], 1);
  EXPECT_EQ(counts["AveragePool"], 1);
  EXPECT_EQ(counts["FC"], 1);
  EXPECT_EQ(model.params().size(), 161u);
  EXPECT_EQ(model.weights().size(), 107u);
  EXPECT_EQ(model.computed_params().size(), 106u);
  auto fills = CountTypes(model.param_init_net());
  EXPECT_EQ(fills["MSRAFill"], 53);
  EXPECT_EQ(fills["XavierFill"], 1);
}

TEST(NetworksTest, ResNet50NamesBlobsAsCaffe2) {
  const ModelHelper model = Build("resnet50", {.image_size = 224}, "NCHW");
  const std::vector<std::string> params = model.params();
  const std::set<std::string> names(params.begin(), params.end());
  for (const char* name :
       {"conv1_w", "conv1_spatbn_relu_s", "conv1_spatbn_relu_b", "comp_0_conv_1_w",
        "comp_0_spatbn_3_s", "shortcut_projection_0_w", "shortcut_projection_13_spatbn_b",
        "comp_15_conv_3_w", "last_out_L1000_w", "last_out_L1000_b"}) {
    EXPECT_TRUE(names.count(name)) << name;
  }
  EXPECT_FALSE(names.count("conv1_b"));
  EXPECT_FALSE(names.count("shortcut_projection_1_w"));
  EXPECT_EQ(ShapeOf(model, "conv1_w"), (std::vector<int64_t>{64, 3, 7, 7}));
  EXPECT_EQ(ShapeOf(model, "last_out_L1000_w"), (std::vector<int64_t>{1000, 2048}));
  EXPECT_NO_THROW(OperatorWriting(model.net(), "comp_15_sum_3"));
}

TEST(NetworksTest, BottleneckStridesInTheMiddle) {
  const ModelHelper model = Build("resnet50", {.image_size = 224});
  const auto stride = [&](const std::string& blob) {
    return FindArgument(OperatorWriting(model.net(), blob), "stride")->i();
  };
  EXPECT_EQ(stride("comp_3_conv_1"), 1);
  EXPECT_EQ(stride("comp_3_conv_2"), 2);
  EXPECT_EQ(stride("shortcut_projection_3"), 2);
  EXPECT_EQ(stride("comp_0_conv_2"), 1);
}

TEST(NetworksTest, DepthsHaveTheirNumberOfConvolutions) {
  const std::map<std::string, int> convolutions = {
      {"resnet18", 20},     {"resnet34", 36},   {"resnet50", 53},
      {"resnet101", 104},   {"resnet152", 155}, {"resnet20_cifar", 21},
      {"resnet9_cifar", 8}, {"lenet", 2},       {"mlp", 0}};
  for (const std::string& name : NetworkNames()) {
    ASSERT_TRUE(convolutions.count(name)) << name;
    const ModelHelper model = Build(name, {.image_size = 32, .num_labels = 10});
    EXPECT_EQ(CountTypes(model.net())["Conv"], convolutions.at(name)) << name;
  }
}

TEST(NetworksTest, TheSmallStemKeepsTheResolution) {
  const ModelHelper model = Build("resnet18", {.image_size = 32, .small_stem = true});
  EXPECT_EQ(ShapeOf(model, "conv1_w"), (std::vector<int64_t>{64, 3, 3, 3}));
  EXPECT_EQ(CountTypes(model.net())["MaxPool"], 0);
  const ModelHelper large = Build("resnet18", {.image_size = 32});
  EXPECT_EQ(CountTypes(large.net())["MaxPool"], 1);
}

TEST(NetworksTest, TestNetsOnlyReadRunningStatistics) {
  const ModelHelper model = Build("resnet18", {.image_size = 32}, "NHWC", /*is_test=*/true);
  for (const OperatorDef& op : model.net().op()) {
    if (op.type() == "SpatialBN") {
      EXPECT_EQ(op.output_size(), 1);
    }
  }
}

TEST(NetworksTest, MlpTakesItsHiddenLayers) {
  const ModelHelper model =
      Build("mlp", {.image_size = 28, .num_channels = 1, .num_labels = 10, .hidden = {7, 5, 3}});
  EXPECT_EQ(CountTypes(model.net())["FC"], 4);
  EXPECT_EQ(ShapeOf(model, "fc1_w"), (std::vector<int64_t>{7, 784}));
  EXPECT_EQ(ShapeOf(model, "pred_w"), (std::vector<int64_t>{10, 3}));
}

TEST(NetworksTest, LenetMatchesItsImage) {
  const ModelHelper model = Build("lenet", {.image_size = 28, .num_channels = 1, .num_labels = 10});
  EXPECT_EQ(ShapeOf(model, "fc3_w"), (std::vector<int64_t>{500, 50 * 4 * 4}));
  EXPECT_THROW(Build("lenet", {.image_size = 15}), EnforceNotMet);
}

TEST(NetworksTest, UnknownNetworkListsTheKnown) {
  try {
    Build("resnet51", {});
    FAIL() << "no exception";
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("resnet50"), std::string::npos) << error.what();
  }
}

TEST(ModelHelperTest, ScopesPrefixNames) {
  ModelHelper model("m");
  {
    const NameScope scope(&model, "cpu_0");
    EXPECT_EQ(brew::FC(&model, "cpu_0/data", "fc1", 4, 2), "cpu_0/fc1");
  }
  EXPECT_EQ(model.params(), (std::vector<std::string>{"cpu_0/fc1_w", "cpu_0/fc1_b"}));
  EXPECT_EQ(model.Scoped("x"), "x");
}

TEST(ModelHelperTest, RefusesASecondParameterOfOneName) {
  ModelHelper model("m");
  brew::FC(&model, "data", "fc", 4, 2);
  EXPECT_THROW(brew::FC(&model, "data", "fc", 4, 2), EnforceNotMet);
}

TEST(ModelHelperTest, WithoutInitialisationParametersAreInputs) {
  ModelHelper model("m", {.init_params = false});
  brew::FC(&model, "data", "fc", 4, 2);
  EXPECT_EQ(model.param_init_net()->op_size(), 0);
  const auto& inputs = model.net()->external_input();
  EXPECT_NE(std::find(inputs.begin(), inputs.end(), "fc_w"), inputs.end());
}

TEST(ModelHelperTest, SeedsDifferByOperatorAndBySeed) {
  const auto seeds = [](uint64_t seed) {
    ModelHelper model("m");
    brew::FC(&model, "data", "fc", 4, 2);
    SetRandomSeeds(model.param_init_net(), seed);
    std::vector<uint32_t> result;
    for (const OperatorDef& op : model.param_init_net()->op()) {
      result.push_back(op.device_option().random_seed());
    }
    return result;
  };
  EXPECT_EQ(seeds(1), seeds(1));
  EXPECT_NE(seeds(1), seeds(2));
  EXPECT_NE(seeds(1)[0], seeds(1)[1]);
}

TEST(ModelHelperTest, SeedsLeaveOperatorsOnTheDeviceOfTheNet) {
  NetDef net;
  net.mutable_device_option()->set_device_type(CUDA);
  net.mutable_device_option()->set_device_id(1);
  net.add_op()->set_type("UniformFill");
  net.add_op()->mutable_device_option()->set_device_type(CPU);
  SetRandomSeeds(&net, 7);
  EXPECT_EQ(net.op(0).device_option().device_type(), CUDA);
  EXPECT_EQ(net.op(0).device_option().device_id(), 1);
  EXPECT_TRUE(net.op(0).device_option().has_random_seed());
  EXPECT_EQ(net.op(1).device_option().device_type(), CPU);
}

TEST(ModelHelperTest, NestedNetsGetSeedsToo) {
  NetDef inner, net;
  inner.add_op()->set_type("UniformFill");
  OperatorDef* op = net.add_op();
  op->set_type("If");
  *op->add_arg() = MakeArgument("then_net", inner);
  *op->add_arg() = MakeArgument("else_net", inner);
  SetRandomSeeds(&net, 7);
  const auto seed_of = [op](int arg) { return op->arg(arg).n().op(0).device_option(); };
  EXPECT_TRUE(seed_of(0).has_random_seed());
  EXPECT_NE(seed_of(0).random_seed(), seed_of(1).random_seed());
}

}  // namespace
}  // namespace caffe2
