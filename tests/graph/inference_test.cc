#include "caffe2/graph/inference.h"

#include <functional>

#include "tests/graph/image_net.h"

namespace caffe2 {
namespace {

using testing::CountType;
using testing::ExpectClose;
using testing::ImageNetBuilder;
using testing::TypesOf;
using testing::ValuesOf;

class InferenceTest : public ::testing::TestWithParam<std::string> {};

TEST_P(InferenceTest, OptimizedNetComputesTheSame) {
  Workspace ws;
  ImageNetBuilder builder(&ws, GetParam(), /*is_test=*/true);
  std::string x = builder.Input("data", 2, 4, 6);
  x = builder.Relu(builder.Norm(builder.Conv(x, "conv", 4, 8, 3, 1, /*bias=*/true), "bn", 8), "bn");
  x = builder.ResidualBlock(x, "a", 8, 8);
  OperatorDef* dropout = builder.Add("Dropout", {x}, "dropped");
  dropout->add_output("mask");
  SetArgument(dropout, "is_test", 1);
  x = builder.ResidualBlock("dropped", "b", 8, 12);
  builder.Fc(builder.AveragePool(x, "pool"), "fc", 12, 3);
  builder.net().add_external_output("fc");
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> plain = ValuesOf(ws, "fc");
  const std::vector<float> filter = ValuesOf(ws, "a_conv1_w");

  NetDef net = builder.net();
  OptimizeForInference(&net, &ws);
  EXPECT_EQ(CountType(net, "SpatialBN") + CountType(net, "Dropout") + CountType(net, "Relu"), 0);
  EXPECT_EQ(CountType(net, "ConvRelu"), 3);
  EXPECT_EQ(CountType(net, "ConvSumRelu"), 2);
  ASSERT_TRUE(ws.RunNetOnce(net));
  ExpectClose(ValuesOf(ws, "fc"), plain, 1e-5f, "fc");
  EXPECT_EQ(ValuesOf(ws, "a_conv1_w"), filter) << "the old parameters stay";
  for (const std::string& blob : net.external_input()) {
    EXPECT_EQ(blob.find("_riv"), std::string::npos) << blob << " is no input any more";
  }
}

INSTANTIATE_TEST_SUITE_P(Orders, InferenceTest, ::testing::Values("NCHW", "NHWC"));

struct ConvNorm {
  explicit ConvNorm(bool is_test) : builder(&ws, "NCHW", is_test) {
    builder.Input("data", 1, 2, 3);
    builder.Norm(builder.Conv("data", "conv", 2, 2, 1), "bn", 2);
  }
  Workspace ws;
  ImageNetBuilder builder;
};

TEST(FoldBatchNormTest, RefusesWhatIsNotConstantOrReadElsewhere) {
  ConvNorm training(false);
  EXPECT_EQ(FoldBatchNorm(&training.builder.net(), &training.ws), 0);
  ConvNorm plain(true);
  EXPECT_EQ(FoldBatchNorm(&plain.builder.net(), &plain.ws, {"conv"}), 0);
  NetDef writes = plain.builder.net();
  *writes.add_op() = writes.op(1);
  writes.mutable_op(2)->set_output(0, "conv_w");
  EXPECT_EQ(FoldBatchNorm(&writes, &plain.ws), 0);
  NetDef absent = plain.builder.net();
  absent.mutable_op(1)->set_input(4, "elsewhere");
  EXPECT_EQ(FoldBatchNorm(&absent, &plain.ws), 0);
  EXPECT_EQ(FoldBatchNorm(&plain.builder.net(), &plain.ws), 1);
  EXPECT_EQ(TypesOf(plain.builder.net()), std::vector<std::string>({"Conv"}));
}

// Blobs may be used again: the parameters of both layers must stay apart.
TEST(FoldBatchNormTest, ConvolutionsThatWriteOneBlob) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", /*is_test=*/true);
  std::string x = builder.Input("data", 1, 2, 3);
  for (const char* prefix : {"first", "second"}) {
    const std::string y = builder.Conv(x, prefix, 2, 2, 1);
    x = builder.Norm(y, std::string(prefix) + "_bn", 2);
    const int conv = builder.net().op_size() - 2;
    builder.net().mutable_op(conv)->set_output(0, "shared");
    builder.net().mutable_op(conv + 1)->set_input(0, "shared");
  }
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  const std::vector<float> plain = ValuesOf(ws, x);
  EXPECT_EQ(FoldBatchNorm(&builder.net(), &ws), 2);
  ASSERT_TRUE(ws.RunNetOnce(builder.net()));
  ExpectClose(ValuesOf(ws, x), plain, 1e-5f, x);
}

// Dropout between two Relu, with what `change` does to the three.
std::vector<std::string> TypesAfter(const std::function<void(NetDef*)>& change) {
  Workspace ws;
  ImageNetBuilder builder(&ws, "NCHW", true);
  builder.Relu("x", "a");
  OperatorDef* dropout = builder.Add("Dropout", {"a"}, "b");
  SetArgument(dropout, "is_test", 1);
  dropout->add_output("mask");
  builder.Relu("b", "c");
  change(&builder.net());
  RemoveIdentities(&builder.net());
  return TypesOf(builder.net());
}

TEST(RemoveIdentitiesTest, KeepsThoseWhoseOutputIsNeeded) {
  const std::vector<std::string> plain = {"Relu", "Dropout", "Relu"}, removed = {"Relu", "Relu"};
  EXPECT_EQ(TypesAfter([](NetDef*) {}), removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(1)->set_type("StopGradient"); }), removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) {
              net->mutable_op(1)->set_output(0, "a");
              net->mutable_op(2)->set_input(0, "a");
            }),
            removed);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(1)->clear_arg(); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->add_external_output("b"); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->add_external_output("mask"); }), plain);
  EXPECT_EQ(TypesAfter([](NetDef* net) {
              *net->add_op() = net->op(2);  // reads b after a was overwritten
              net->mutable_op(2)->set_output(0, "a");
            }),
            std::vector<std::string>({"Relu", "Dropout", "Relu", "Relu"}));
  // The reader would write in place of its input, which not all operators can.
  EXPECT_EQ(TypesAfter([](NetDef* net) { net->mutable_op(2)->set_output(0, "a"); }), plain);
}

}  // namespace
}  // namespace caffe2
