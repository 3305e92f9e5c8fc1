#include "caffe2/graph/flat_update.h"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "caffe2/core/argument.h"
#include "caffe2/core/half.h"
#include "caffe2/core/operator_gradient.h"
#include "caffe2/core/random.h"
#include "caffe2/core/workspace.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::TypesOf;

using Names = std::vector<std::string>;

void Add(NetDef* net, const std::string& type, const Names& inputs, const Names& outputs,
         const std::vector<Argument>& args = {}) {
  *net->add_op() = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
}

// The gradients of three parameters of a little net (2 x each of them), decay of two, and updates.
NetDef TrainingNet(int buckets = 0) {
  NetDef net;
  for (const char* param : {"w", "b", "v"}) {
    Add(&net, "Scale", {param}, {std::string(param) + "_grad"}, {MakeArgument("scale", 2.f)});
  }
  if (buckets > 0) Add(&net, "AllreduceBucket", {"cw", "v_grad", "b_grad"}, {"v_grad", "b_grad"});
  if (buckets > 1) Add(&net, "AllreduceBucket", {"cw", "w_grad"}, {"w_grad"});
  for (const std::string param : {"w", "v"}) {
    Add(&net, "WeightedSum", {param + "_grad", "one", param, "wd"}, {param + "_grad"});
  }
  for (const std::string param : {"w", "b", "v"}) {
    const std::string gradient = param + "_grad", momentum = param + "_momentum";
    Add(&net, "MomentumSGDUpdate", {gradient, momentum, "lr", param}, {gradient, momentum, param},
        {MakeArgument("momentum", 0.9f), MakeArgument("nesterov", 1)});
  }
  return net;
}

NetDef InitNet() {
  NetDef net;
  for (const auto& [name, value] : {std::pair{"one", 1.f}, {"wd", 0.1f}, {"lr", 0.01f}}) {
    Add(&net, "ConstantFill", {}, {name},
        {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", value)});
  }
  for (const auto& [name, size] : {std::pair{"w", 70}, {"b", 3}, {"v", 64}}) {
    const std::vector<int64_t> shape = {size};
    Add(&net, "UniformFill", {}, {name}, {MakeArgument("shape", shape)});
    net.mutable_op(net.op_size() - 1)->mutable_device_option()->set_random_seed(size);
    Add(&net, "ConstantFill", {}, {std::string(name) + "_momentum"},
        {MakeArgument("shape", shape)});
  }
  return net;
}

TEST(FuseUpdatesTest, ComputesTheSameInBlocks) {
  const NetDef init = InitNet(), plain = TrainingNet();
  NetDef fused = plain;
  const std::vector<ParameterArena> arenas = FuseUpdates(init, &fused);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].params, (Names{"w", "b", "v"}));
  EXPECT_EQ(TypesOf(fused), (Names{"Scale", "Scale", "Scale", "MultiMomentumSGDUpdate"}));
  EXPECT_EQ(ArgumentHelper(fused.op(3)).GetRepeatedArgument<float>("weight_decay"),
            (std::vector<float>{0.1f, 0.f, 0.1f}));
  Workspace expected, actual;
  for (Workspace* ws : {&expected, &actual}) ASSERT_TRUE(ws->RunNetOnce(init));
  PlaceArena(arenas[0], &actual);
  for (int i = 0; i < 4; ++i) {
    ASSERT_TRUE(expected.RunNetOnce(plain));
    ASSERT_TRUE(actual.RunNetOnce(fused));
  }
  for (const char* name : {"w", "b", "v", "w_momentum", "b_momentum", "v_momentum"}) {
    const Tensor &a = expected.GetBlob(name)->Get<Tensor>(),
                 &b = actual.GetBlob(name)->Get<Tensor>();
    ASSERT_EQ(a.sizes(), b.sizes());
    for (int64_t i = 0; i < a.numel(); ++i) {
      EXPECT_NEAR(a.data<float>()[i], b.data<float>()[i], 1e-6f) << name << " " << i;
    }
  }
  // Still where they were placed: 70 elements take 128.
  const auto* w = actual.GetBlob("w")->Get<Tensor>().data<float>();
  const auto* w_grad = actual.GetBlob("w_grad")->Get<Tensor>().data<float>();
  EXPECT_EQ(actual.GetBlob("v")->Get<Tensor>().data<float>() - w, 128 + 64);
  EXPECT_EQ(actual.GetBlob("v_grad")->Get<Tensor>().data<float>() - w_grad, 128 + 64);
}

TEST(FuseUpdatesTest, BucketsAreSlicesInTheirOrder) {
  NetDef net = TrainingNet(2);
  const std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &net);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].gradients, (Names{"v_grad", "b_grad", "w_grad"}));
  for (const int bucket : {3, 4}) {
    EXPECT_TRUE(ArgumentHelper(net.op(bucket)).GetSingleArgument("flat", false)) << bucket;
  }
}

TEST(FuseUpdatesTest, LeavesAloneWhatOthersTouch) {
  const auto groups_with = [](const std::string& type, const Names& inputs, const Names& outputs,
                              int position) {
    NetDef net, plain = TrainingNet();
    for (int i = 0; i <= plain.op_size(); ++i) {
      if (i == position) Add(&net, type, inputs, outputs);
      if (i < plain.op_size()) *net.add_op() = plain.op(i);
    }
    return FuseUpdates(InitNet(), &net).size();
  };
  EXPECT_EQ(groups_with("Copy", {"other"}, {"another"}, 6), 1u);
  EXPECT_EQ(groups_with("Copy", {"w"}, {"another"}, 7), 0u) << "between two updates";
  EXPECT_EQ(groups_with("Copy", {"w_grad"}, {"step"}, 8), 0u) << "reads the step";
  EXPECT_EQ(groups_with("Copy", {"w"}, {"next"}, 8), 1u) << "reads the new parameter";
}

TEST(FuseUpdatesTest, DecayIsTakenOnlyFromKnownConstants) {
  NetDef init = InitNet(), net = TrainingNet();
  init.mutable_op()->DeleteSubrange(0, 1);  // "one" comes from elsewhere
  const std::vector<ParameterArena> arenas = FuseUpdates(init, &net);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(TypesOf(net), (Names{"Scale", "Scale", "Scale", "WeightedSum", "WeightedSum",
                                 "MultiMomentumSGDUpdate"}));
}

TEST(FuseUpdatesTest, OtherRatesAndDevicesMakeOtherGroups) {
  NetDef net = TrainingNet();
  net.mutable_op(net.op_size() - 1)->mutable_device_option()->set_device_type(CUDA);
  std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &net);
  ASSERT_EQ(arenas.size(), 2u);
  std::set<Names> groups = {arenas[0].params, arenas[1].params};
  EXPECT_EQ(groups, (std::set<Names>{{"w", "b"}, {"v"}}));
}

TEST(FuseUpdatesTest, UpdatesWithoutADeviceStayOnTheDeviceOfTheNet) {
  NetDef net = TrainingNet();
  net.mutable_device_option()->set_device_type(CUDA);
  net.mutable_device_option()->set_device_id(1);
  const std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &net);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(arenas[0].device.ToString(), "cuda:1");
  ASSERT_EQ(net.op(3).type(), "MultiMomentumSGDUpdate");
  EXPECT_FALSE(net.op(3).has_device_option());
}

// The same gradients under every optimizer, scaled: the fused net divides in its update.
struct Optimizer {
  const char* type;
  const char* fused;
};
class FuseScaledUpdatesTest : public ::testing::TestWithParam<Optimizer> {};
INSTANTIATE_TEST_SUITE_P(Optimizers, FuseScaledUpdatesTest,
                         ::testing::Values(Optimizer{"MomentumSGDUpdate", "MultiMomentumSGDUpdate"},
                                           Optimizer{"Adam", "MultiAdam"},
                                           Optimizer{"Adagrad", "MultiAdagrad"},
                                           Optimizer{"RmsProp", "MultiRmsProp"}));

NetDef ScaledNet(const std::string& type) {
  NetDef net;
  for (const std::string param : {"w", "b", "v"}) {
    Add(&net, "Mul", {param, "scale"}, {param + "_grad"}, {MakeArgument("broadcast", 1)});
  }
  const Names gradients = {"w_grad", "b_grad", "v_grad"};
  Names inputs = {"scale"}, outputs = {"found_inf"};
  inputs.insert(inputs.end(), gradients.begin(), gradients.end());
  outputs.insert(outputs.end(), gradients.begin(), gradients.end());
  Add(&net, "CheckFiniteAndUnscale", inputs, outputs);
  Add(&net, "UpdateLossScale", {"scale", "good", "found_inf"}, {"scale", "good"},
      {MakeArgument("growth_interval", 2)});
  Add(&net, "WeightedSum", {"v_grad", "one", "v", "wd"}, {"v_grad"});
  for (const std::string p : {"w", "b", "v"}) {
    const std::string g = p + "_grad", m = p + "_momentum", m2 = p + "_second";
    if (type == "MomentumSGDUpdate") {
      Add(&net, type, {g, m, "lr", p, "found_inf"}, {g, m, p}, {MakeArgument("momentum", 0.9f)});
    } else if (type == "Adam") {
      Add(&net, type, {p, m, m2, g, "lr", "iter", "found_inf"}, {p, m, m2});
    } else if (type == "Adagrad") {
      Add(&net, type, {p, m, g, "lr", "found_inf"}, {p, m});
    } else {
      Add(&net, type, {g, m2, m, "lr", "found_inf"}, {g, m2, m}, {MakeArgument("momentum", 0.5f)});
      Add(&net, "WeightedSum", {p, "one", g, "one"}, {p});
    }
  }
  return net;
}

TEST_P(FuseScaledUpdatesTest, DividesAndSkipsInOneOperator) {
  NetDef init = InitNet();
  for (const char* name : {"w", "b", "v"}) {
    Add(&init, "ConstantFill", {name}, {std::string(name) + "_second"});
  }
  Add(&init, "ConstantFill", {}, {"scale"},
      {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument("value", 24.f)});
  for (const auto& [name, type] :
       {std::pair{"good", TensorProto::INT32}, {"iter", TensorProto::INT64}}) {
    Add(&init, "ConstantFill", {}, {name},
        {MakeArgument("shape", std::vector<int64_t>{1}), MakeArgument<int>("dtype", type)});
  }
  const NetDef plain = ScaledNet(GetParam().type);
  NetDef fused = plain;
  const std::vector<ParameterArena> arenas = FuseUpdates(init, &fused);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(TypesOf(fused),
            (Names{"Mul", "Mul", "Mul", "CheckFinite", "UpdateLossScale", GetParam().fused}));
  Names names = {"w", "b", "v", "scale"};
  for (const Names& states : arenas[0].states) {
    names.insert(names.end(), states.begin(), states.end());
  }
  Workspace expected, actual;
  for (Workspace* ws : {&expected, &actual}) ASSERT_TRUE(ws->RunNetOnce(init));
  PlaceArena(arenas[0], &actual);
  constexpr int kOverflow = 3;
  for (int i = 0; i < 6; ++i) {
    for (Workspace* ws : {&expected, &actual}) {
      float* scale = ws->GetBlob("scale")->GetMutable<Tensor>()->mutable_data<float>();
      const float before = *scale;
      if (i == kOverflow) *scale = std::numeric_limits<float>::infinity();
      ASSERT_TRUE(ws->RunNetOnce(ws == &expected ? plain : fused));
      if (i == kOverflow) *scale = before / 2;
    }
    for (const std::string& name : names) {
      const Tensor &a = expected.GetBlob(name)->Get<Tensor>(),
                   &b = actual.GetBlob(name)->Get<Tensor>();
      ASSERT_EQ(a.sizes(), b.sizes());
      for (int64_t k = 0; k < a.numel(); ++k) {
        EXPECT_NEAR(a.data<float>()[k], b.data<float>()[k], 1e-6f) << name << " " << k << " " << i;
      }
    }
  }
  EXPECT_EQ(actual.GetBlob("scale")->Get<Tensor>().data<float>()[0], 48.f);
}

// Decoupled decay of two of three parameters stays decoupled in one operator. A decay of the
// gradient before it is another operation.
TEST(FuseUpdatesTest, DecoupledDecayIsPartOfTheUpdate) {
  NetDef init = InitNet(), plain;
  for (const char* name : {"w", "b", "v"}) {
    Add(&init, "ConstantFill", {name}, {std::string(name) + "_second"});
    Add(&plain, "Scale", {name}, {std::string(name) + "_grad"}, {MakeArgument("scale", 2.f)});
  }
  Add(&init, "ConstantFill", {}, {"iter"},
      {MakeArgument("shape", std::vector<int64_t>{1}),
       MakeArgument<int>("dtype", TensorProto::INT64)});
  Add(&plain, "WeightedSum", {"v_grad", "one", "v", "wd"}, {"v_grad"});
  for (const std::string p : {"w", "b", "v"}) {
    Add(&plain, "Adam", {p, p + "_momentum", p + "_second", p + "_grad", "lr", "iter"},
        {p, p + "_momentum", p + "_second"},
        {MakeArgument("weight_decay", p == "b" ? 0.f : 0.7f),
         MakeArgument("decoupled_weight_decay", true)});
  }
  NetDef fused = plain;
  const std::vector<ParameterArena> arenas = FuseUpdates(init, &fused);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(TypesOf(fused), (Names{"Scale", "Scale", "Scale", "WeightedSum", "MultiAdam"}));
  Workspace expected, actual;
  for (Workspace* ws : {&expected, &actual}) ASSERT_TRUE(ws->RunNetOnce(init));
  PlaceArena(arenas[0], &actual);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(expected.RunNetOnce(plain));
    ASSERT_TRUE(actual.RunNetOnce(fused));
  }
  for (const char* name : {"w", "b", "v"}) {
    const Tensor &a = expected.GetBlob(name)->Get<Tensor>(),
                 &b = actual.GetBlob(name)->Get<Tensor>();
    for (int64_t k = 0; k < a.numel(); ++k) {
      EXPECT_NEAR(a.data<float>()[k], b.data<float>()[k], 1e-6f) << name << " " << k;
    }
  }
}

TEST(FuseUpdatesTest, OthersDivideWhereSomeoneReadsTheGradients) {
  const NetDef net = ScaledNet("Adam");
  NetDef watched;
  for (int i = 0; i < net.op_size(); ++i) {
    if (i == 5) Add(&watched, "Copy", {"b_grad"}, {"seen"});
    *watched.add_op() = net.op(i);
  }
  const std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &watched);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(TypesOf(watched), (Names{"Mul", "Mul", "Mul", "CheckFiniteAndUnscale",
                                     "UpdateLossScale", "Copy", "MultiAdam"}));
  EXPECT_EQ(watched.op(6).input(watched.op(6).input_size() - 1), "found_inf");
}

// Two filters; something else reads the second, too.
TEST(AddFilterCopiesTest, ConvolutionsReadWhatTheUpdateWrites) {
  NetDef net;
  Add(&net, "Conv", {"x", "w"}, {"y"});
  Add(&net, "Conv", {"y", "v"}, {"z"});
  Add(&net, "Copy", {"v"}, {"seen"});
  Add(&net, "ConvGradient", {"y", "v", "z_grad"}, {"v_grad", "y_grad"},
      {MakeArgument("no_bias", 1)});
  Add(&net, "ConvGradient", {"x", "w", "y_grad"}, {"w_grad"}, {MakeArgument("no_bias", 1)});
  for (const std::string p : {"w", "v"}) {
    Add(&net, "MomentumSGDUpdate", {p + "_grad", p + "_momentum", "lr", p},
        {p + "_grad", p + "_momentum", p});
  }
  std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &net);
  ASSERT_EQ(arenas.size(), 1u);
  EXPECT_EQ(AddFilterCopies(TensorProto::BFLOAT16, &net, &arenas), 1);
  EXPECT_EQ(arenas[0].copies, (Names{"w_bfloat16", ""}));
  EXPECT_EQ(net.op(0).input(1), "w_bfloat16");
  EXPECT_EQ(net.op(1).input(1), "v");
  EXPECT_EQ(net.op(4).input(1), "w_bfloat16");
  EXPECT_TRUE(ArgumentHelper(net.op(4)).GetSingleArgument("float_gradients", false));
  EXPECT_FALSE(ArgumentHelper(net.op(3)).GetSingleArgument("float_gradients", false));
  const OperatorDef& update = net.op(5);
  EXPECT_EQ(update.output(4), "w_bfloat16");
  EXPECT_EQ(ArgumentHelper(update).GetRepeatedArgument<int>("copied"), (std::vector<int>{0}));
  Workspace ws;
  ASSERT_TRUE(ws.RunNetOnce(InitNet()));
  PlaceArena(arenas[0], &ws);
  const Tensor &w = ws.GetBlob("w")->Get<Tensor>(), &copy = ws.GetBlob("w_bfloat16")->Get<Tensor>();
  ASSERT_EQ(copy.sizes(), w.sizes());
  for (int64_t i = 0; i < w.numel(); ++i) {
    EXPECT_EQ(copy.data<bfloat16>()[i].x, ToBFloat16(w.data<float>()[i]).x);
  }
  EXPECT_THROW(AddFilterCopies(TensorProto::FLOAT, &net, &arenas), EnforceNotMet);
}

// Wherever an operator takes its filter.
TEST(AddFilterCopiesTest, NormalizedConvolutionsReadThemToo) {
  const std::vector<std::pair<std::string, Names>> images = {
      {"NormReluConvStats", {"x", "n"}},
      {"NormSumReluConvStats", {"x", "n", "z"}},
      {"NormSumNormReluConvStats", {"x", "n", "z", "zn"}}};
  for (const auto& [type, read] : images) {
    NetDef net;
    Names inputs = read;
    inputs.emplace_back("w");
    Add(&net, type, inputs, {"y", "sum", "sumsq"});
    inputs.emplace_back("y_grad");
    Add(&net, type + "Gradient", inputs, {"w_grad", "g", "n_grad"});
    Add(&net, "Conv", {"y", "v"}, {"u"});
    Add(&net, "ConvGradient", {"y", "v", "u_grad"}, {"v_grad"}, {MakeArgument("no_bias", 1)});
    for (const std::string p : {"w", "v"}) {
      Add(&net, "MomentumSGDUpdate", {p + "_grad", p + "_momentum", "lr", p},
          {p + "_grad", p + "_momentum", p});
    }
    std::vector<ParameterArena> arenas = FuseUpdates(InitNet(), &net);
    EXPECT_EQ(AddFilterCopies(TensorProto::BFLOAT16, &net, &arenas), 2) << type;
    for (const int op : {0, 1}) {
      EXPECT_EQ(net.op(op).input(static_cast<int>(read.size())), "w_bfloat16") << type;
    }
  }
}

// What checks a block for infinities reads the gaps, too.
TEST(PlaceArenaTest, GapsAreZero) {
  Workspace ws;
  ws.RunNetOnce(InitNet());
  NetDef net = TrainingNet();
  const auto arenas = FuseUpdates(InitNet(), &net);
  ASSERT_EQ(arenas.size(), 1U);
  constexpr int64_t kBlock = 128 + 64 + 64;
  {
    // Memory that the blocks are likely to get.
    std::vector<Tensor> dirty;
    for (int i = 0; i < 8; ++i) {
      dirty.emplace_back(std::vector<int64_t>{kBlock}, std::vector<float>(kBlock, 7.f));
    }
  }
  PlaceArena(arenas[0], &ws);
  for (const Names& names : {arenas[0].gradients, arenas[0].states[0], arenas[0].params}) {
    for (const std::string& name : names) {
      const auto& tensor = ws.GetBlob(name)->Get<Tensor>();
      for (int64_t i = tensor.numel(); i % 64 != 0; ++i) {
        EXPECT_EQ(tensor.data<float>()[i], 0.f) << name << " element " << i;
      }
    }
  }
}

TEST(PlaceArenaTest, NamesWhatIsMissing) {
  Workspace ws;
  EXPECT_THROW(PlaceArena({Device{}, {"g"}, {{"m"}}, {"p"}, {}}, &ws), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
