#include "caffe2/graph/control_gradient.h"

#include <gtest/gtest.h>

#include "caffe2/graph/gradient.h"
#include "tests/graph/gradient_check.h"

namespace caffe2::testing {
namespace {

OperatorDef Fill(const std::string& blob, int value, TensorProto::DataType type) {
  return Op("ConstantFill", {}, {blob},
            {MakeArgument("shape", std::vector<int>{1}), MakeArgument("value", value),
             MakeArgument("dtype", static_cast<int>(type))});
}
OperatorDef FillBool(const std::string& blob, bool value) {
  return Fill(blob, value, TensorProto::BOOL);
}
OperatorDef FillInt(const std::string& blob, int value) {
  return Fill(blob, value, TensorProto::INT32);
}
OperatorDef Scale(const std::string& in, const std::string& out, float scale) {
  return Op("Scale", {in}, {out}, {MakeArgument("scale", scale)});
}

OperatorDef If(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::vector<OperatorDef>& then_ops, const std::vector<OperatorDef>& else_ops) {
  OperatorDef op = Op("If", inputs, outputs, {MakeArgument("then_net", Net(then_ops, "then"))});
  if (!else_ops.empty()) SetArgument(&op, "else_net", Net(else_ops, "else"));
  return op;
}

// A Do whose net knows outer blob b as "in_b". The scope comes last in inputs and outputs.
OperatorDef Do(const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
               const std::vector<OperatorDef>& ops, std::vector<Argument> args = {}) {
  std::vector<std::string> outer(inputs.begin(), inputs.end() - 1);
  for (size_t i = 0; i + 1 < outputs.size(); ++i) {
    if (std::find(outer.begin(), outer.end(), outputs[i]) == outer.end()) {
      outer.push_back(outputs[i]);
    }
  }
  std::vector<std::string> inner;
  std::vector<int> index;
  for (size_t i = 0; i < outer.size(); ++i) {
    inner.push_back("in_" + outer[i]);
    index.push_back(static_cast<int>(i));
  }
  args.push_back(MakeArgument("net", Net(ops, "inside")));
  args.push_back(MakeArgument("inner_blobs", inner));
  args.push_back(MakeArgument("outer_blobs_idx", index));
  return Op("Do", inputs, outputs, args);
}
OperatorDef CreateScope(const std::string& name = "scope") { return Op("CreateScope", {}, {name}); }

const Values kXW = {{"x", {0.3f, -0.6f}}, {"w", {1.5f, 0.7f}}};

TEST(IfGradientTest, BothBranches) {
  for (const bool condition : {true, false}) {
    CheckNumerically(
        Net({FillBool("c", condition),
             If({"c", "x", "w"}, {"y"}, {Op("Mul", {"x", "w"}, {"t"}), Op("Sigmoid", {"t"}, {"y"})},
                {Scale("x", "y", 3)}),
             Op("Mul", {"y", "x"}, {"l"})}),
        kXW, "l");
  }
}

TEST(IfGradientTest, ABranchThatDoesNotWriteHandsThrough) {
  for (const bool condition : {true, false}) {
    CheckNumerically(
        Net({FillBool("c", condition), Op("Mul", {"x", "w"}, {"y"}),
             If({"c", "y"}, {"y"}, {Op("Tanh", {"y"}, {"y"})}, {}), Op("Mul", {"y", "w"}, {"l"})}),
        kXW, "l");
  }
}

// The nets see the blobs around them whether or not the operator lists them.
TEST(IfGradientTest, BlobsThatAreNotListed) {
  for (const bool condition : {true, false}) {
    CheckNumerically(
        Net({FillBool("c", condition), Scale("x", "y", 2),
             If({"c"}, {}, {Op("Mul", {"x", "w"}, {"t"}), Op("Mul", {"t", "t"}, {"y"})},
                {Op("Sum", {"x", "w"}, {"y"})}),
             Op("Sigmoid", {"y"}, {"l"})}),
        kXW, "l");
  }
}

TEST(IfGradientTest, ContributionsOfSeveralOperatorsAreSummed) {
  for (const bool condition : {true, false}) {
    CheckNumerically(
        Net({FillBool("c", condition),
             If({"c", "x", "w"}, {"y"}, {Op("Mul", {"x", "w"}, {"y"})},
                {Op("Sum", {"x", "w"}, {"y"})}),
             If({"c", "x", "w"}, {"z"}, {Scale("x", "z", -2)}, {Op("Mul", {"w", "w"}, {"z"})}),
             Op("Mul", {"x", "y"}, {"u"}), Op("Sum", {"u", "z"}, {"l"})}),
        kXW, "l");
  }
}

// Both outputs get one and the same gradient blob.
TEST(IfGradientTest, TwoOutputsWithOneGradient) {
  for (const bool condition : {true, false}) {
    CheckNumerically(Net({FillBool("c", condition),
                          If({"c", "x", "w"}, {"y", "z"},
                             {Op("Mul", {"x", "w"}, {"y"}), Op("Sigmoid", {"x"}, {"z"})},
                             {Op("Tanh", {"w"}, {"y"}), Op("Copy", {"x"}, {"z"})}),
                          Op("Sum", {"y", "z"}, {"l"})}),
                     kXW, "l");
  }
}

TEST(IfGradientTest, IfInsideIf) {
  for (const int bits : {0, 1, 2, 3}) {
    CheckNumerically(
        Net({FillBool("a", bits & 1), FillBool("b", bits & 2),
             If({"a", "b", "x", "w"}, {"y"},
                {Op("Mul", {"x", "w"}, {"y"}),
                 If({"b", "y"}, {"y"}, {Op("Sigmoid", {"y"}, {"y"})}, {Scale("y", "y", 3)})},
                {Op("Copy", {"w"}, {"y"}),
                 If({"b", "x"}, {"y"}, {Op("Mul", {"x", "x"}, {"y"})}, {})}),
             Op("Mul", {"y", "x"}, {"l"})}),
        kXW, "l");
  }
}

TEST(IfGradientTest, WhatCannotBeDone) {
  const std::string sparse = ErrorOf([] {
    GetBackwardPass(
        Net({If({"c", "table", "ids"}, {"y"}, {Op("Gather", {"table", "ids"}, {"y"})}, {})}),
        {{"y", ""}});
  });
  EXPECT_NE(sparse.find("the gradient of blob table is sparse"), std::string::npos) << sparse;

  // A later If overwrites what the gradient of an earlier one needs.
  const std::vector<OperatorDef> square = {Op("Sigmoid", {"x"}, {"t"}),
                                           Op("Mul", {"t", "t"}, {"y"})};
  const std::string needed = ErrorOf([&square] {
    GetBackwardPass(Net({If({"c", "x"}, {"y"}, square, {}), Op("Scale", {"y"}, {"l"}),
                         If({"c", "u"}, {}, {Op("Sigmoid", {"u"}, {"t"})}, {})}),
                    {{"l", ""}});
  });
  EXPECT_NE(needed.find("blob t, which a later operator overwrites"), std::string::npos) << needed;

  const std::string nested = ErrorOf([] {
    GetBackwardPass(Net({If({"c", "x"}, {"y"}, {Op("NoSuchOperator", {"x"}, {"y"})}, {})}),
                    {{"y", ""}});
  });
  EXPECT_NE(nested.find("NoSuchOperator"), std::string::npos) << nested;
  EXPECT_NE(nested.find("net then"), std::string::npos) << nested;
}

TEST(DoGradientTest, InnerBlobsAreBoundAndLocal) {
  CheckNumerically(Net({CreateScope(),
                        Do({"x", "w", "scope"}, {"y", "scope"},
                           {Op("Mul", {"in_x", "in_w"}, {"t"}), Op("Sigmoid", {"t"}, {"u"}),
                            Op("Mul", {"u", "t"}, {"in_y"})}),
                        Op("Mul", {"y", "x"}, {"l"})}),
                   kXW, "l");
}

TEST(DoGradientTest, OneBlobInAndOut) {
  CheckNumerically(Net({CreateScope(), Scale("x", "y", 2),
                        Do({"y", "w", "scope"}, {"y", "scope"},
                           {Op("Copy", {"in_y"}, {"old"}), Op("Mul", {"old", "in_w"}, {"in_y"})}),
                        Op("Sigmoid", {"y"}, {"l"})}),
                   kXW, "l");
}

TEST(DoGradientTest, TwoOutputsWithOneGradientAndTwoInputsWithOneResult) {
  CheckNumerically(
      Net({CreateScope(),
           Do({"x", "w", "scope"}, {"y", "z", "scope"},
              {Op("Sum", {"in_x", "in_w"}, {"in_y"}), Op("Mul", {"in_x", "in_w"}, {"in_z"})}),
           Op("Sum", {"y", "z"}, {"l"})}),
      kXW, "l");
}

TEST(DoGradientTest, SparseGradientsPass) {
  NetDef net =
      Net({CreateScope(),
           Op("GivenTensorInt64Fill", {}, {"ids"},
              {MakeArgument("shape", std::vector<int>{2}),
               MakeArgument("values", std::vector<int>{2, 0})}),
           Do({"table", "ids", "scope"}, {"y", "scope"},
              {Op("Gather", {"in_table", "in_ids"}, {"rows"}), Scale("rows", "in_y", 3)})});
  const auto gradients = AddGradientOperators(&net, {{"y", ""}});
  ASSERT_TRUE(gradients.at("table").IsSparse());
  Workspace ws;
  Feed(&ws, {{"table", {1, 2, 3}}});
  ASSERT_TRUE(ws.RunNetOnce(net));
  EXPECT_EQ(Fetch(ws, gradients.at("table").values), (std::vector<float>{3, 3}));
  const Tensor& indices = ws.GetBlob(gradients.at("table").indices)->Get<Tensor>();
  EXPECT_EQ(indices.data<int64_t>()[0], 2);
  EXPECT_EQ(indices.data<int64_t>()[1], 0);
}

// With copies the gradient does not care what becomes of the outer blobs.
TEST(DoGradientTest, ExternalCopiesOutliveTheirBlobs) {
  const auto net = [](const std::vector<Argument>& args) {
    return Net(
        {CreateScope(), Scale("x", "a", 1),
         Do({"a", "w", "scope"}, {"y", "scope"}, {Op("Mul", {"in_a", "in_w"}, {"in_y"})}, args),
         Scale("a", "a", 0), Op("Sigmoid", {"y"}, {"l"})});
  };
  CheckNumerically(net({MakeArgument("copy_external_blobs", 1)}), kXW, "l");
  const std::string error = ErrorOf([&net] { GetBackwardPass(net({}), {{"l", ""}}); });
  EXPECT_NE(error.find("blob a, which a later operator overwrites"), std::string::npos) << error;
}

TEST(DoGradientTest, IfInsideDoAndDoInsideIf) {
  for (const bool condition : {true, false}) {
    CheckNumerically(Net({CreateScope(), FillBool("c", condition),
                          Do({"c", "x", "w", "scope"}, {"y", "scope"},
                             {Op("Mul", {"in_x", "in_w"}, {"t"}),
                              If({"in_c", "t"}, {"in_y"},
                                 {Op("Sigmoid", {"t"}, {"s"}), Op("Mul", {"s", "t"}, {"in_y"})},
                                 {Op("Tanh", {"t"}, {"in_y"})})}),
                          Op("Mul", {"y", "w"}, {"l"})}),
                     kXW, "l");
    CheckNumerically(
        Net({CreateScope(), FillBool("c", condition),
             If({"c", "x", "w"}, {"y"},
                {Do({"x", "w", "scope"}, {"y", "scope"},
                    {Op("Mul", {"in_x", "in_w"}, {"t"}), Op("Mul", {"t", "t"}, {"in_y"})})},
                {Scale("x", "y", 0.5f)}),
             Op("Mul", {"y", "w"}, {"l"})}),
        kXW, "l");
  }
}

TEST(DoGradientTest, AnOutputThatIsReadMustBeAnInput) {
  const std::string error = ErrorOf([] {
    GetBackwardPass(
        Net({CreateScope(), Scale("x", "y", 2),
             Do({"x", "scope"}, {"y", "scope"}, {Op("Sum", {"in_y", "in_x"}, {"in_y"})})}),
        {{"y", ""}});
  });
  EXPECT_NE(error.find("y, which is bound to it, is not an input of Do: add it to the inputs"),
            std::string::npos)
      << error;
}

// `body` runs `times` times over x, w and the counter.
NetDef LoopNet(int times, const std::vector<OperatorDef>& body,
               const std::vector<Argument>& args = {MakeArgument("copy_external_blobs", 1)}) {
  std::vector<OperatorDef> ops = body;
  ops.push_back(Op("Sub", {"in_i", "in_one"}, {"in_i"}));
  const OperatorDef step = Do({"y", "w", "i", "one", "scope"}, {"y", "i", "scope"}, ops, args);
  return Net({CreateScope(), FillInt("i", times), FillInt("one", 1), FillInt("zero", 0),
              FillBool("c", true), Scale("x", "y", 2),
              Op("While", {"c", "y", "w", "i", "one", "zero"}, {"y", "i", "c"},
                 {MakeArgument("loop_net", Net({step}, "loop")),
                  MakeArgument("cond_net", Net({Op("GT", {"i", "zero"}, {"c"})}, "condition"))}),
              Op("Mul", {"y", "x"}, {"l"}), Op("Mul", {"l", "w"}, {"l2"})});
}

const std::vector<OperatorDef> kTanhOfProduct = {
    Op("Copy", {"in_y"}, {"old"}), Op("Mul", {"old", "in_w"}, {"t"}), Op("Tanh", {"t"}, {"in_y"})};

TEST(WhileGradientTest, AsOftenAsTheBodyRan) {
  for (const int times : {0, 1, 2, 5}) {
    CheckNumerically(LoopNet(times, kTanhOfProduct), kXW, "l2");
  }
}

// The gradient net may run again: every run starts with an empty scope.
TEST(WhileGradientTest, RunsAgain) {
  NetDef net = LoopNet(3, kTanhOfProduct);
  const auto gradients = AddGradientOperators(&net, {{"l2", ""}});
  Workspace ws;
  Feed(&ws, kXW);
  ws.CreateNet(net);
  ASSERT_TRUE(ws.RunNet("test"));
  const std::vector<float> first = Fetch(ws, gradients.at("w").dense);
  ASSERT_TRUE(ws.RunNet("test"));
  EXPECT_EQ(Fetch(ws, gradients.at("w").dense), first);
}

TEST(WhileGradientTest, IfInTheBody) {
  for (const int times : {1, 4}) {
    CheckNumerically(
        LoopNet(times,
                {Op("GT", {"in_i", "in_one"}, {"more"}), Op("Copy", {"in_y"}, {"old"}),
                 If({"more", "old", "in_w"}, {"in_y"}, {Op("Mul", {"old", "in_w"}, {"in_y"})},
                    {Op("Sigmoid", {"old"}, {"s"}), Op("Mul", {"s", "in_w"}, {"in_y"})})}),
        kXW, "l2");
  }
}

// h reaches the loss through y of later runs only; its last value does not count.
TEST(WhileGradientTest, ABlobWhoseGradientBeginsInsideTheLoop) {
  const OperatorDef step =
      Do({"y", "h", "w", "i", "one", "scope"}, {"y", "h", "i", "scope"},
         {Op("Copy", {"in_y"}, {"y0"}), Op("Copy", {"in_h"}, {"h0"}),
          Op("Mul", {"y0", "h0"}, {"in_y"}), Op("Mul", {"h0", "in_w"}, {"in_h"}),
          Op("Sub", {"in_i", "in_one"}, {"in_i"})},
         {MakeArgument("copy_external_blobs", 1)});
  for (const int times : {1, 2, 3}) {
    CheckNumerically(
        Net({CreateScope(), FillInt("i", times), FillInt("one", 1), FillInt("zero", 0),
             FillBool("c", true), Scale("x", "y", 2), Op("Sum", {"x", "w"}, {"h"}),
             Op("While", {"c", "y", "h", "w", "i", "one", "zero"}, {"y", "h", "i", "c"},
                {MakeArgument("loop_net", Net({step}, "loop")),
                 MakeArgument("cond_net", Net({Op("GT", {"i", "zero"}, {"c"})}, "condition"))})}),
        kXW, "y");
  }
}

TEST(WhileGradientTest, ALoopInALoop) {
  const OperatorDef inner =
      Do({"in_y", "in_w", "j", "in_one", "inner_scope"}, {"in_y", "j", "inner_scope"},
         {Op("Copy", {"in_in_y"}, {"old"}), Op("Mul", {"old", "in_in_w"}, {"t"}),
          Op("Tanh", {"t"}, {"in_in_y"}), Op("Sub", {"in_j", "in_in_one"}, {"in_j"})},
         {MakeArgument("copy_external_blobs", 1)});
  const auto net = LoopNet(
      2,
      {CreateScope("inner_scope"), FillInt("j", 3), FillInt("none", 0), FillBool("more", true),
       Op("While", {"more", "in_y", "in_w", "j", "in_one", "none"}, {"in_y", "j", "more"},
          {MakeArgument("loop_net", Net({inner}, "inner_loop")),
           MakeArgument("cond_net", Net({Op("GT", {"j", "none"}, {"more"})}, "inner_condition"))}),
       Scale("in_y", "in_y", 1.5f)});
  CheckNumerically(net, kXW, "l2");
}

TEST(WhileGradientTest, WhatCannotBeDone) {
  const auto error_of = [](const NetDef& net) {
    return ErrorOf([&net] { GetBackwardPass(net, {{"l2", ""}}); });
  };
  const std::string no_copies = error_of(LoopNet(2, kTanhOfProduct, {}));
  EXPECT_NE(no_copies.find("blob y as it was in every iteration: set copy_external_blobs"),
            std::string::npos)
      << no_copies;
  const std::string reused =
      error_of(LoopNet(2, kTanhOfProduct, {MakeArgument("reuse_workspace", 1)}));
  EXPECT_NE(reused.find("reuse_workspace"), std::string::npos) << reused;

  const auto loop = [&](const NetDef& body_net, const NetDef& condition) {
    return Net({Scale("x", "y", 2),
                Op("While", {"c", "y"}, {"y"},
                   {MakeArgument("loop_net", body_net), MakeArgument("cond_net", condition)}),
                Scale("y", "l2", 1)});
  };
  const std::string plain = error_of(loop(Net({Scale("y", "y", 2)}, "loop"), Net({})));
  EXPECT_NE(plain.find("a loop_net of one Do operator"), std::string::npos) << plain;
  const NetDef body_net = Net({Do({"y", "scope"}, {"y", "scope"}, {Scale("in_y", "in_y", 2)})});
  const std::string condition = error_of(loop(body_net, Net({Scale("y", "y", 2)})));
  EXPECT_NE(condition.find("no gradient flows through the cond_net"), std::string::npos)
      << condition;
  const std::string untouched = error_of(
      loop(Net({Do({"z", "scope"}, {"z", "scope"}, {Scale("in_z", "in_z", 2)})}), Net({})));
  EXPECT_NE(untouched.find("does not write its output y"), std::string::npos) << untouched;
}

}  // namespace
}  // namespace caffe2::testing
