#include "caffe2/graph/transform.h"

#include <gtest/gtest.h>

#include "caffe2/core/argument.h"
#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

OperatorDef* Add(NetDef* net, const std::string& type, const std::vector<std::string>& inputs,
                 const std::vector<std::string>& outputs, const std::vector<Argument>& args = {}) {
  *net->add_op() = GradientMakerBase::CreateOperatorDef(type, "", inputs, outputs, args);
  return net->mutable_op(net->op_size() - 1);
}

TEST(TransformTest, EqualOperatorsBecomeOne) {
  NetDef net;
  net.add_external_input("x");
  net.add_external_output("z");
  Add(&net, "Relu", {"x"}, {"a"});
  Add(&net, "Relu", {"x"}, {"b"})->set_name("another name");
  Add(&net, "Sigmoid", {"a"}, {"c"});
  Add(&net, "Sigmoid", {"b"}, {"d"});  // equal once b is a
  Add(&net, "Sum", {"c", "d"}, {"z"});
  EXPECT_EQ(EliminateCommonSubexpressions(&net), 2);
  ASSERT_EQ(net.op_size(), 3);
  EXPECT_EQ(net.op(2).input(0), "c");
  EXPECT_EQ(net.op(2).input(1), "c");
}

TEST(TransformTest, ControlInputsFollow) {
  NetDef net;
  net.add_external_input("x");
  net.add_external_output("z");
  Add(&net, "Relu", {"x"}, {"a"});
  Add(&net, "Relu", {"x"}, {"b"});
  Add(&net, "Sigmoid", {"x"}, {"z"})->add_control_input("b");
  EXPECT_EQ(EliminateCommonSubexpressions(&net), 1);
  EXPECT_EQ(net.op(1).control_input(0), "a");
}

TEST(TransformTest, WhatDiffersStays) {
  NetDef net;
  net.add_external_input("x");
  net.add_external_output("out");
  Add(&net, "Scale", {"x"}, {"a"}, {MakeArgument("scale", 2.f)});
  Add(&net, "Scale", {"x"}, {"b"}, {MakeArgument("scale", 3.f)});  // another argument
  Add(&net, "Dropout", {"x"}, {"c", "m"});                         // random
  Add(&net, "Dropout", {"x"}, {"d", "n"});
  Add(&net, "Relu", {"x"}, {"e"});
  Add(&net, "Relu", {"x"}, {"out"});  // external
  Add(&net, "Copy", {"a"}, {"x"});
  Add(&net, "Relu", {"x"}, {"f"});  // another value of x
  Add(&net, "Relu", {"x"}, {"g"})->mutable_device_option()->set_device_type(CUDA);
  Add(&net, "Relu", {"b"}, {"h"});
  Add(&net, "Relu", {"b"}, {"h"});  // written twice
  const NetDef before = net;
  EXPECT_EQ(EliminateCommonSubexpressions(&net), 0);
  EXPECT_EQ(net.SerializeAsString(), before.SerializeAsString());
}

TEST(TransformTest, OrderOfArgumentsDoesNotCount) {
  NetDef net;
  const Argument kernel = MakeArgument("kernel", 3), pad = MakeArgument("pad", 1);
  Add(&net, "MaxPool", {"x"}, {"a"}, {kernel, pad});
  Add(&net, "MaxPool", {"x"}, {"b"}, {pad, kernel});
  EXPECT_EQ(EliminateCommonSubexpressions(&net), 1);
}

TEST(TransformTest, TransformsAreFoundByName) {
  NetDef net;
  Add(&net, "Relu", {"x"}, {"a"});
  Add(&net, "Relu", {"x"}, {"b"});
  EXPECT_EQ(ApplyTransform("CommonSubexpressionElimination", net).op_size(), 1);
  EXPECT_EQ(net.op_size(), 2);
  EXPECT_EQ(TransformNames().size(), 3);
  EXPECT_THROW(ApplyTransform("ConvToNNPack", net), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
