#include "caffe2/graph/gradient.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/graph/gradient_check.h"

namespace caffe2::testing {
namespace {

TEST(GradientTest, AChainOfOperators) {
  CheckNumerically(Net({Op("Sigmoid", {"x"}, {"y"}), Op("Mul", {"y", "w"}, {"z"})}),
                   {{"x", {0.3f, -0.6f}}, {"w", {1.5f, 2.f}}}, "z");
}

TEST(GradientTest, FanOutIsSummedUnderCaffe2sNames) {
  NetDef net = Net(
      {Op("Mul", {"x", "a"}, {"y"}), Op("Mul", {"x", "b"}, {"z"}), Op("Mul", {"y", "z"}, {"l"})});
  CheckNumerically(net, {{"x", {0.5f, 2.f}}, {"a", {1.f, -2.f}}, {"b", {3.f, 0.25f}}}, "l");
  const BackwardPass pass = GetBackwardPass(net, {{"l", ""}});
  const OperatorDef& last = pass.ops.back();
  EXPECT_EQ(last.type(), "Sum");
  EXPECT_EQ(last.output(0), "x_grad");
  ASSERT_EQ(last.input_size(), 2);
  EXPECT_EQ(last.input(0), "x_grad");
  EXPECT_EQ(last.input(1), "_x_grad_autosplit_0");
  EXPECT_FALSE(last.has_device_option());
  for (const OperatorDef& op : pass.ops) {
    EXPECT_EQ(op.is_gradient_op(), op.type() == "MulGradient") << op.type();
  }
}

TEST(GradientTest, SumsLieWhereTheirFirstGradientDoesAndAreMarked) {
  NetDef net = Net(
      {Op("Mul", {"x", "a"}, {"y"}), Op("Mul", {"x", "b"}, {"z"}), Op("Mul", {"y", "z"}, {"l"})});
  for (OperatorDef& op : *net.mutable_op()) {
    op.mutable_device_option()->set_node_name("node:3");
    op.mutable_device_option()->add_extra_info("shard:1");
  }
  const auto sum_device = [&net] {
    return GetBackwardPass(net, {{"l", ""}}).ops.back().device_option();
  };
  DeviceOption device = sum_device();
  EXPECT_EQ(device.node_name(), "node:3");
  ASSERT_EQ(device.extra_info_size(), 2);
  EXPECT_EQ(device.extra_info(0), "shard:1");
  EXPECT_EQ(device.extra_info(1), "is_auto_gen_sum_ops:1");
  for (OperatorDef& op : *net.mutable_op()) {
    op.mutable_device_option()->add_extra_info("only_keep_is_auto_gen_sum_ops_tag:1");
  }
  device = sum_device();
  EXPECT_EQ(device.node_name(), "node:3");
  ASSERT_EQ(device.extra_info_size(), 1);
  EXPECT_EQ(device.extra_info(0), "is_auto_gen_sum_ops:1");
}

TEST(GradientTest, OneOperatorThatReadsABlobTwice) {
  CheckNumerically(Net({Op("Mul", {"x", "x"}, {"y"})}), {{"x", {0.5f, 2.f, -1.f}}}, "y");
  CheckNumerically(Net({Op("Sum", {"x", "x", "x"}, {"y"})}), {{"x", {0.5f, 2.f}}}, "y");
}

TEST(GradientTest, AGradientHandedThroughIsSummedWithComputedOnes) {
  CheckNumerically(Net({Op("Sum", {"x", "w"}, {"y"}), Op("Mul", {"x", "y"}, {"z"})}),
                   {{"x", {0.5f, 2.f}}, {"w", {1.f, -1.f}}}, "z");
  // Three, of which two are handed through.
  CheckNumerically(Net({Op("Sum", {"x", "x"}, {"y"}), Op("Mul", {"x", "y"}, {"z"})}),
                   {{"x", {0.5f, 2.f}}}, "z");
  // What is handed through has the name that the sum would have, and is the gradient of v too.
  CheckNumerically(Net({Op("Scale", {"w"}, {"x"}), Op("Tanh", {"x"}, {"u"}),
                        Op("Sum", {"x", "v"}, {"x"}), Op("Mul", {"u", "x"}, {"z"})}),
                   {{"w", {0.5f, 2.f}}, {"v", {1.f, -1.f}}}, "z");
}

TEST(GradientTest, InPlaceOperators) {
  // The gradient of Scale needs none of the overwritten values.
  CheckNumerically(
      Net({Op("Mul", {"x", "w"}, {"y"}), Op("Scale", {"y"}, {"y"}, {MakeArgument("scale", 0.5f)}),
           Op("Tanh", {"y"}, {"y"}), Op("Mul", {"y", "x"}, {"z"})}),
      {{"x", {0.5f, 2.f}}, {"w", {1.f, -1.f}}}, "z");
}

TEST(GradientTest, SeveralLossesAreAdded) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"a"}), Op("Sigmoid", {"x"}, {"b"})});
  const auto gradients = AddGradientOperators(&net, {{"a", ""}, {"b", ""}});
  Workspace ws;
  Feed(&ws, {{"x", {0.4f}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  const float s = 1 / (1 + std::exp(-0.4f));
  EXPECT_NEAR(ws.GetBlob(gradients.at("x").dense)->Get<Tensor>().data<float>()[0],
              2 * 0.4f + s * (1 - s), 1e-5);
}

TEST(GradientTest, AnInnerBlobMayBeALossToo) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"a"}), Op("Mul", {"a", "a"}, {"b"})});
  const auto gradients = AddGradientOperators(&net, {{"b", ""}, {"a", ""}});
  // Ones first, in the order of the losses; the sum has the name of what is written first.
  EXPECT_EQ(net.op(2).output(0), "b_autogen_grad");
  EXPECT_EQ(net.op(3).output(0), "a_autogen_grad");
  EXPECT_EQ(gradients.at("a").dense, "a_autogen_grad");
  Workspace ws;
  Feed(&ws, {{"x", {1.5f}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  // d(x^2 + x^4)/dx
  EXPECT_NEAR(ws.GetBlob(gradients.at("x").dense)->Get<Tensor>().data<float>()[0],
              2 * 1.5f + 4 * 1.5f * 1.5f * 1.5f, 1e-4);
}

TEST(GradientTest, ALossIsGivenOnce) {
  EXPECT_THROW(GetBackwardPass(Net({Op("Relu", {"x"}, {"l"})}), {{"l", ""}, {"l", ""}}),
               EnforceNotMet);
}

// NormSumNormRelu writes one blob as the gradient of X and of Z.
TEST(GradientTest, AGradientOfTwoBlobsStaysWhenOneOfThemIsSummed) {
  const OperatorDef block = Op("NormSumNormRelu", {"X", "nx", "Z", "nz"}, {"Y"});
  const OperatorDef relu = Op("Relu", {"X"}, {"R"});
  for (const bool block_first : {true, false}) {
    const NetDef net = Net(block_first ? std::vector<OperatorDef>{block, relu}
                                       : std::vector<OperatorDef>{relu, block});
    const BackwardPass pass = GetBackwardPass(net, {{"Y", "dY"}, {"R", "dR"}});
    const std::string shared = pass.gradients.at("Z").dense;
    EXPECT_NE(pass.gradients.at("X").dense, shared);
    int writers = 0;
    for (const OperatorDef& op : pass.ops) {
      writers += static_cast<int>(std::count(op.output().begin(), op.output().end(), shared));
      if (op.type() != "Sum") continue;
      EXPECT_EQ(op.output(0), pass.gradients.at("X").dense);
      EXPECT_EQ(std::count(op.input().begin(), op.input().end(), shared), 1);
    }
    EXPECT_EQ(writers, 1);
  }
}

TEST(GradientTest, AGivenGradientOfTheLossIsUsed) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"y"})});
  const auto gradients = AddGradientOperators(&net, {{"y", "seed"}});
  Workspace ws;
  Feed(&ws, {{"x", {3.f}}, {"seed", {10.f}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_FLOAT_EQ(ws.GetBlob(gradients.at("x").dense)->Get<Tensor>().data<float>()[0], 60.f);
}

// y is a loss and read on the way to another, and its given gradient has the name of the sum.
TEST(GradientTest, GivenGradientOfABlobThatIsReadToo) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"y"}), Op("Mul", {"y", "w"}, {"z"})});
  const auto gradients = AddGradientOperators(&net, {{"y", "y_grad"}, {"z", "z_grad"}});
  Workspace ws;
  Feed(&ws, {{"x", {3.f}}, {"w", {2.f}}, {"y_grad", {10.f}}, {"z_grad", {1.f}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_FLOAT_EQ(ws.GetBlob(gradients.at("x").dense)->Get<Tensor>().data<float>()[0], 72.f);
}

TEST(GradientTest, ZeroGradientIsOne) {
  NetDef net = Net(
      {Op("Mul", {"x", "w"}, {"y"}), Op("ZeroGradient", {"y"}, {}), Op("Mul", {"u", "u"}, {"l"})});
  const auto gradients = AddGradientOperators(&net, {{"l", ""}});
  Workspace ws;
  Feed(&ws, {{"x", {3.f}}, {"w", {2.f}}, {"u", {5.f}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_FLOAT_EQ(ws.GetBlob(gradients.at("x").dense)->Get<Tensor>().data<float>()[0], 0.f);
  EXPECT_FLOAT_EQ(ws.GetBlob(gradients.at("u").dense)->Get<Tensor>().data<float>()[0], 10.f);
}

TEST(GradientTest, NothingFlowsThroughStopGradientOrUnusedBranches) {
  NetDef net = Net({Op("Mul", {"x", "w"}, {"y"}), Op("StopGradient", {"y"}, {"s"}),
                    Op("Mul", {"s", "v"}, {"z"}), Op("Sigmoid", {"u"}, {"unused"})});
  const BackwardPass pass = GetBackwardPass(net, {{"z", ""}});
  EXPECT_TRUE(pass.gradients.count("v"));
  EXPECT_FALSE(pass.gradients.count("x"));
  EXPECT_FALSE(pass.gradients.count("w"));
  EXPECT_FALSE(pass.gradients.count("u"));
}

// The gradient of what StopGradient made of a blob in place is not that of the blob before.
TEST(GradientTest, StopGradientInPlaceLeavesNone) {
  const NetDef net = Net({Op("Mul", {"x", "w"}, {"y"}), Op("StopGradient", {"y"}, {"y"}),
                          Op("Mul", {"y", "v"}, {"z"})});
  const BackwardPass pass = GetBackwardPass(net, {{"z", "z_grad"}});
  EXPECT_EQ(pass.ops.size(), 1u);
  EXPECT_EQ(pass.gradients.size(), 2u);
  EXPECT_TRUE(pass.gradients.count("v"));
  EXPECT_TRUE(pass.gradients.count("z"));
}

TEST(GradientTest, RowsThatWereGatheredGetSparseGradients) {
  const NetDef net =
      Net({Op("Gather", {"table", "ids"}, {"rows"}), Op("Gather", {"table", "more"}, {"r2"}),
           Op("Mul", {"rows", "r2"}, {"l"})});
  const BackwardPass pass = GetBackwardPass(net, {{"l", ""}});
  const GradientWrapper& gradient = pass.gradients.at("table");
  EXPECT_TRUE(gradient.IsSparse());
  EXPECT_FALSE(gradient.IsDense());
  const OperatorDef& concat = pass.ops.back();
  EXPECT_EQ(concat.type(), "Concat");
  EXPECT_EQ(concat.input_size(), 2);
}

TEST(GradientTest, DeviceOfTheForwardOperatorIsKept) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"y"})});
  net.mutable_op(0)->mutable_device_option()->set_device_type(CUDA);
  net.mutable_op(0)->mutable_device_option()->set_device_id(3);
  for (const OperatorDef& op : GetBackwardPass(net, {{"y", ""}}).ops) {
    EXPECT_EQ(op.device_option().device_type(), CUDA) << op.type();
    EXPECT_EQ(op.device_option().device_id(), 3) << op.type();
  }
  // Sums of gradients that operators hand through, and of sparse ones.
  NetDef handed = Net({Op("Sum", {"x", "w"}, {"y"}), Op("Sum", {"x", "y"}, {"z"}),
                       Op("Gather", {"table", "ids"}, {"a"}), Op("Gather", {"table", "ids"}, {"b"}),
                       Op("Mul", {"a", "b"}, {"c"}), Op("Mul", {"c", "z"}, {"l"})});
  for (OperatorDef& op : *handed.mutable_op())
    *op.mutable_device_option() = net.op(0).device_option();
  for (const OperatorDef& op : GetBackwardPass(handed, {{"l", ""}}).ops) {
    EXPECT_EQ(op.device_option().device_id(), 3) << op.type();
  }
}

TEST(GradientTest, ErrorsNameOperatorAndBlob) {
  NetDef net = Net({Op("Mul", {"x", "x"}, {"y"})});
  net.set_name("products");
  const auto unknown_loss = [&] {
    return ErrorOf([&] { GetBackwardPass(net, {{"absent", ""}}); });
  };
  EXPECT_NE(unknown_loss().find("net products computes no blob absent"), std::string::npos)
      << unknown_loss();
  net.clear_name();
  EXPECT_NE(unknown_loss().find("the net computes no blob absent"), std::string::npos)
      << unknown_loss();

  const std::string overwritten = ErrorOf([] {
    GetBackwardPass(Net({Op("Mul", {"x", "w"}, {"y"}), Op("Sigmoid", {"u"}, {"x"})}), {{"y", ""}});
  });
  EXPECT_NE(overwritten.find("version 0 of blob x"), std::string::npos) << overwritten;
  EXPECT_NE(overwritten.find("overwrites"), std::string::npos) << overwritten;

  const std::string indices = ErrorOf([] {
    GetBackwardPass(
        Net({Op("Gather", {"table", "ids"}, {"rows"}), Op("Copy", {"others"}, {"ids"})}),
        {{"rows", ""}});
  });
  EXPECT_NE(indices.find("blob ids, which a later operator overwrites"), std::string::npos)
      << indices;

  // y is written twice, and only the second is read.
  const std::string replaced = ErrorOf([] {
    GetBackwardPass(Net({Op("Sigmoid", {"x"}, {"y"}), Op("Sigmoid", {"u"}, {"y"}),
                         Op("Mul", {"y", "y"}, {"z"})}),
                    {{"z", ""}});
  });
  EXPECT_NE(replaced.find("version 1 of blob y, which nothing reads"), std::string::npos)
      << replaced;

  net = Net({Op("Accuracy", {"x", "label"}, {"y"})});
  const auto no_gradient = [&] { return ErrorOf([&] { GetBackwardPass(net, {{"y", ""}}); }); };
  EXPECT_NE(no_gradient().find("(gradient of net test, operator 0, Accuracy, output y)"),
            std::string::npos)
      << no_gradient();
  net.clear_name();
  EXPECT_NE(no_gradient().find("(gradient of operator 0, Accuracy, output y)"), std::string::npos)
      << no_gradient();
  net.mutable_op(0)->set_type("NoSuchOperator");
  EXPECT_NE(no_gradient().find("NoSuchOperator"), std::string::npos) << no_gradient();
}

}  // namespace
}  // namespace caffe2::testing
