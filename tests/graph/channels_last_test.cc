#include "caffe2/graph/channels_last.h"

#include <functional>

#include "caffe2/core/argument.h"
#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ImageNetBuilder;
using testing::TypesOf;
using testing::ValuesOf;

constexpr int kChannels = 8;

// A net in NCHW: data -> first convolution "a" -> what a test adds.
struct NchwNet {
  NchwNet() : builder(&ws, "NCHW", /*is_test=*/true) {
    builder.Input("data", 2, 3, 9);
    builder.Conv("data", "a", 3, kChannels, 3, 1, /*bias=*/true);
  }
  NetDef& net() { return builder.net(); }
  OperatorDef* Add(const std::string& type, const std::vector<std::string>& inputs,
                   const std::string& output) {
    return builder.Add(type, inputs, output);
  }
  // Moves the net, runs both forms, and compares the outputs. Returns the net in NHWC.
  NetDef ExpectSame(const std::vector<std::string>& outputs, float tolerance = 1e-5f) {
    for (const std::string& blob : outputs) net().add_external_output(blob);
    EXPECT_TRUE(ws.RunNetOnce(net()));
    std::vector<std::vector<float>> plain;
    for (const std::string& blob : outputs) {
      plain.push_back(ValuesOf(ws, blob));
      sizes.push_back(ws.GetBlob(blob)->Get<Tensor>().sizes());
      ws.RemoveBlob(blob);
    }
    NetDef moved = net();
    count = MoveToChannelsLast(&moved, &ws);
    for (int run = 0; run < 2; ++run) {
      EXPECT_TRUE(ws.RunNetOnce(moved));
      for (size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(ws.GetBlob(outputs[i])->Get<Tensor>().sizes(), sizes[i]) << outputs[i];
        ExpectClose(ValuesOf(ws, outputs[i]), plain[i], tolerance, outputs[i]);
      }
    }
    return moved;
  }

  Workspace ws;
  ImageNetBuilder builder;
  std::vector<std::vector<int64_t>> sizes;
  int count = 0;  // of moved operators
};

using Extend = std::function<void(NchwNet&)>;
struct Follower {
  const char* name;
  Extend extend;  // adds operators from "a" to "y"
};

OperatorDef* Windowed(NchwNet& n, const std::string& type, int kernel, int stride) {
  OperatorDef* op = n.Add(type, {"a"}, "y");
  SetArgument(op, "kernel", kernel);
  SetArgument(op, "stride", stride);
  return op;
}

std::vector<Follower> Followers() {
  std::vector<Follower> followers = {
      {"MaxPool", [](NchwNet& n) { SetArgument(Windowed(n, "MaxPool", 3, 2), "pad", 1); }},
      {"MaxPoolLegacyPad",
       [](NchwNet& n) { SetArgument(Windowed(n, "MaxPool", 2, 2), "legacy_pad", 3); }},
      {"AveragePool", [](NchwNet& n) { Windowed(n, "AveragePool", 2, 1); }},
      {"GlobalPool", [](NchwNet& n) { n.builder.AveragePool("a", "y"); }},
      {"Norm", [](NchwNet& n) { n.builder.Norm("a", "y", kChannels); }},
      {"PRelu",
       [](NchwNet& n) {
         n.builder.Parameter("slope", {kChannels}, -1, 1);
         n.Add("PRelu", {"a", "slope"}, "y");
       }},
      {"ChannelShuffle",
       [](NchwNet& n) { SetArgument(n.Add("ChannelShuffle", {"a"}, "y"), "group", 2); }},
      {"PadImage", [](NchwNet& n) { SetArgument(n.Add("PadImage", {"a"}, "y"), "pad", 2); }},
      {"ResizeNearest",
       [](NchwNet& n) {
         OperatorDef* op = n.Add("ResizeNearest", {"a"}, "y");
         SetArgument(op, "width_scale", 2.f);
         SetArgument(op, "height_scale", 1.5f);
       }},
      {"Sum",
       [](NchwNet& n) {
         n.builder.Conv("data", "b", 3, kChannels, 1);
         n.Add("Sum", {"a", "b", "a"}, "y");
       }},
      {"MulByPooled",
       [](NchwNet& n) {
         n.builder.AveragePool("a", "means");
         n.Add("Mul", {"a", "means"}, "y");
       }},
      {"MulByChannel",
       [](NchwNet& n) {
         n.builder.Parameter("factor", {kChannels}, -1, 1);
         OperatorDef* op = n.Add("Mul", {"a", "factor"}, "y");
         SetArgument(op, "broadcast", 1);
         SetArgument(op, "axis", 1);
       }},
      {"Concat",
       [](NchwNet& n) {
         n.builder.Conv("data", "b", 3, 5, 1);
         n.Add("Concat", {"a", "b"}, "y")->add_output("y_dims");
       }},
      {"ConcatAxis",
       [](NchwNet& n) {
         OperatorDef* op = n.Add("Concat", {"a", "a"}, "y");
         op->add_output("y_dims");
         SetArgument(op, "axis", -3);
       }},
      {"Split",
       [](NchwNet& n) {
         OperatorDef* op = n.Add("Split", {"a"}, "parts");
         op->add_output("y");
         SetArgument(op, "split", std::vector<int>{3, 5});
       }},
      {"GroupConv",
       [](NchwNet& n) {
         n.builder.Parameter("w", {6, 4, 3, 3}, -1, 1);
         SetArgument(Windowed(n, "Conv", 3, 2), "group", 2);
         n.net().mutable_op(1)->add_input("w");
       }},
      {"DepthwiseConv",
       [](NchwNet& n) {
         n.builder.Parameter("w", {kChannels, 1, 3, 3}, -1, 1);
         SetArgument(Windowed(n, "Conv", 3, 1), "group", kChannels);
         n.net().mutable_op(1)->add_input("w");
       }},
      {"ConvTranspose",
       [](NchwNet& n) {
         n.builder.Parameter("w", {kChannels, 5, 3, 3}, -1, 1);
         Windowed(n, "ConvTranspose", 3, 2)->add_input("w");
       }},
  };
  for (const char* type : {"Abs", "Clip", "Copy", "Elu", "Exp", "HardSigmoid", "LeakyRelu", "Relu",
                           "Scale", "Selu", "Sigmoid", "Softplus", "Sqr", "Swish", "Tanh"}) {
    followers.push_back({type, [type](NchwNet& n) { n.Add(type, {"a"}, "y"); }});
  }
  return followers;
}

class FollowerTest : public ::testing::TestWithParam<Follower> {};

TEST_P(FollowerTest, RunsInChannelsLast) {
  NchwNet n;
  GetParam().extend(n);
  const int operators = n.net().op_size();
  const NetDef moved = n.ExpectSame({"y"});
  EXPECT_EQ(n.count, operators);
  EXPECT_EQ(CountType(moved, "NCHW2NHWC"), 1) << "the data";
  EXPECT_EQ(CountType(moved, "NHWC2NCHW"), 1) << "the output";
}

INSTANTIATE_TEST_SUITE_P(Types, FollowerTest, ::testing::ValuesIn(Followers()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(ChannelsLastTest, OtherOperatorsStayInChannelsFirst) {
  NchwNet n;
  SetArgument(n.Add("Softmax", {"a"}, "rows"), "axis", 1);  // of channels and pixels
  n.Add("Concat", {"a", "a"}, "tall")->add_output("tall_dims");
  SetArgument(n.net().mutable_op(2), "axis", 2);
  n.builder.Parameter("row", {9}, -1, 1);
  n.Add("Add", {"a", "row"}, "last");
  SetArgument(n.net().mutable_op(3), "broadcast", 1);
  SetArgument(n.Add("Mul", {"a", "row"}, "no_broadcast"), "axis", 1);  // then axis is not read
  n.builder.Fc("a", "fc", kChannels * 81, 4);
  const NetDef moved = n.ExpectSame({"rows", "tall", "last", "no_broadcast", "fc"});
  EXPECT_EQ(n.count, 1);
  EXPECT_EQ(CountType(moved, "NHWC2NCHW"), 1) << "the operators read one blob";
}

TEST(ChannelsLastTest, OperatorsWhoseOtherOutputsAreReadStay) {
  NchwNet n;
  n.builder.Parameter("scale", {kChannels}, 0, 1);
  OperatorDef* op = n.Add("InstanceNorm", {"a", "scale", "scale"}, "y");
  op->add_output("mean");
  op->add_output("inv_stdev");
  n.ExpectSame({"y", "mean"});
  EXPECT_EQ(n.count, 1);
}

// Versions of a blob, in both orders, one of them changed in place.
TEST(ChannelsLastTest, BlobsThatAreWrittenSeveralTimes) {
  NchwNet n;
  n.builder.Relu("a", "a");
  n.builder.Fc("a", "fc", kChannels * 81, 4);
  n.builder.Conv("a", "b", kChannels, kChannels, 3);
  n.builder.Sum("a", "b", "a");
  SetArgument(n.Add("Softmax", {"a"}, "a"), "axis", 3);
  n.builder.Conv("a", "c", kChannels, 4, 3);
  n.builder.Conv("c", "d", 4, kChannels, 3);
  n.net().mutable_op(7)->set_output(0, "a");
  n.ExpectSame({"fc", "b", "c", "a"});
  EXPECT_EQ(n.count, 6);
}

// A run begins with what the last one left in "state".
TEST(ChannelsLastTest, StateOutlastsARun) {
  std::vector<float> expected;
  for (const bool moves : {false, true}) {
    NchwNet n;
    n.builder.Parameter("state", {2, kChannels, 9, 9}, 0, 0);
    n.builder.Conv("state", "b", kChannels, kChannels, 3);
    n.builder.Sum("a", "b", "state");
    NetDef net = n.net();
    const int moved = moves ? MoveToChannelsLast(&net, &n.ws) : 3;
    EXPECT_EQ(moved, 3);
    for (int run = 0; run < 3; ++run) ASSERT_TRUE(n.ws.RunNetOnce(net));
    const std::vector<float> state = ValuesOf(n.ws, "state");
    if (moves) ExpectClose(state, expected, 1e-5f, "state");
    expected = state;
  }
}

TEST(ChannelsLastTest, KeptBlobsAreThere) {
  NchwNet n;
  n.builder.Relu("a", "y");
  ASSERT_TRUE(n.ws.RunNetOnce(n.net()));
  const std::vector<float> plain = ValuesOf(n.ws, "a");
  n.ws.RemoveBlob("a");
  NetDef net = n.net();
  EXPECT_EQ(MoveToChannelsLast(&net, &n.ws, {"a"}), 2);
  ASSERT_TRUE(n.ws.RunNetOnce(net));
  ExpectClose(ValuesOf(n.ws, "a"), plain, 1e-5f, "a");
}

// Values for channels may be computed by the net, as images of one pixel.
TEST(ChannelsLastTest, ParametersThatTheNetComputes) {
  NchwNet n;
  n.builder.Input("data", 1, 3, 9);
  n.builder.AveragePool("a", "slope");
  n.Add("PRelu", {"a", "slope"}, "y");
  n.builder.Parameter("zero", {kChannels}, 0, 0);
  n.Add("InstanceNorm", {"y", "slope", "zero"}, "z");
  n.ExpectSame({"slope", "y", "z"});
  EXPECT_EQ(n.count, 4);
}

TEST(ChannelsLastTest, NamesOfKeptBlobsAreTaken) {
  NchwNet n;
  n.builder.Parameter("a_nhwc", {2}, 3, 3);
  n.net().clear_external_input();
  n.net().add_external_output("a_nhwc");
  n.ExpectSame({"a"});
  EXPECT_EQ(ValuesOf(n.ws, "a_nhwc"), std::vector<float>({3, 3}));
}

TEST(ChannelsLastTest, SharedFiltersAndTakenNames) {
  NchwNet n;
  n.Add("Copy", {"data"}, "a_w_nhwc");
  OperatorDef* second = n.net().add_op();
  *second = n.net().op(0);
  second->set_input(0, "a_w_nhwc");
  second->set_output(0, "b");
  const std::vector<float> filter = ValuesOf(n.ws, "a_w");
  const NetDef moved = n.ExpectSame({"a", "b"});
  EXPECT_EQ(n.count, 3);
  EXPECT_EQ(ValuesOf(n.ws, "a_w"), filter);
  ASSERT_TRUE(n.ws.HasBlob("a_w_nhwc_"));
  EXPECT_EQ(n.ws.GetBlob("a_w_nhwc_")->Get<Tensor>().sizes(),
            (std::vector<int64_t>{kChannels, 3, 3, 3}));
  EXPECT_EQ(moved.external_input_size(), n.net().external_input_size() + 1);
}

TEST(ChannelsLastTest, ControlInputsNameTheBlobThatThereIs) {
  NchwNet n;
  n.Add("Copy", {"data"}, "y")->add_control_input("a");
  NetDef net = n.net();
  EXPECT_EQ(MoveToChannelsLast(&net, &n.ws), 2);
  EXPECT_EQ(net.op(2).control_input(0), "a_nhwc");
}

TEST(ChannelsLastTest, BFloat16) {
  NchwNet n;
  SetArgument(n.Add("Cast", {"data"}, "narrow"), "to", static_cast<int>(TensorProto::BFLOAT16));
  n.builder.Conv("narrow", "b", 3, 16, 3);
  n.builder.Conv("b", "c", 16, 4, 3);
  const NetDef moved = n.ExpectSame({"c"}, 2e-2f);
  EXPECT_EQ(n.count, 3);
}

TEST(ChannelsLastTest, NetsThatStayAsTheyAre) {
  const std::vector<std::pair<const char*, std::function<void(NchwNet&)>>> cases = {
      {"NHWC",
       [](NchwNet& n) { SetArgument(n.net().mutable_op(0), "order", std::string("NHWC")); }},
      {"a filter that is not there", [](NchwNet& n) { n.ws.RemoveBlob("a_w"); }},
      {"a filter that the net writes", [](NchwNet& n) { n.Add("Copy", {"y"}, "a_w"); }},
      {"a filter of three axes",
       [](NchwNet& n) {
         n.builder.Parameter("a_w", {8, 3, 3}, 0, 1);
       }},
      {"a net in an argument",
       [](NchwNet& n) {
         OperatorDef* op = n.Add("If", {"data"}, "y");
         SetArgument(op, "then_net", NetDef());
       }},
      {"a device",
       [](NchwNet& n) {
         n.net().mutable_op(0)->mutable_device_option()->set_device_type(static_cast<int>(CUDA));
       }},
  };
  for (const auto& [what, change] : cases) {
    NchwNet n;
    change(n);
    NetDef net = n.net();
    EXPECT_EQ(MoveToChannelsLast(&net, &n.ws), 0) << what;
    EXPECT_EQ(net.SerializeAsString(), n.net().SerializeAsString()) << what;
  }
}

}  // namespace
}  // namespace caffe2
