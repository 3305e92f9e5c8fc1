#include "caffe2/core/operator_schema.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "caffe2/core/logging.h"
#include "caffe2/core/operator_gradient.h"

namespace caffe2 {
namespace {

OperatorDef Def(int inputs, int outputs) {
  OperatorDef def;
  def.set_type("Test");
  for (int i = 0; i < inputs; ++i) def.add_input("i" + std::to_string(i));
  for (int i = 0; i < outputs; ++i) def.add_output("o" + std::to_string(i));
  return def;
}

OpSchema Schema() { return OpSchema("Test", __FILE__, __LINE__); }

TEST(OpSchemaTest, CountsOfInputsAndOutputs) {
  OpSchema schema = Schema();
  schema.NumInputs(1, 2).NumOutputs({1, 3});
  EXPECT_NO_THROW(schema.Verify(Def(2, 1)));
  EXPECT_NO_THROW(schema.Verify(Def(1, 3)));
  EXPECT_THROW(schema.Verify(Def(0, 1)), EnforceNotMet);
  EXPECT_THROW(schema.Verify(Def(3, 1)), EnforceNotMet);
  EXPECT_THROW(schema.Verify(Def(1, 2)), EnforceNotMet);
  schema.NumInputsOutputs([](int in, int out) { return in + out == 4; });
  EXPECT_NO_THROW(schema.Verify(Def(1, 3)));
  EXPECT_THROW(schema.Verify(Def(2, 3)), EnforceNotMet);
}

TEST(OpSchemaTest, OutputCalculator) {
  OpSchema schema = Schema();
  schema.OutputCalculator([](int in) { return 2 * in; });
  EXPECT_NO_THROW(schema.Verify(Def(2, 4)));
  EXPECT_THROW(schema.Verify(Def(2, 3)), EnforceNotMet);
  EXPECT_EQ(schema.CalculateOutput(3), 6);
}

TEST(OpSchemaTest, InplaceIsForbiddenUnlessAllowed) {
  OperatorDef same = Def(2, 1);
  same.set_output(0, "i0");
  OpSchema schema = Schema();
  EXPECT_THROW(schema.Verify(same), EnforceNotMet);
  schema.AllowInplace({{0, 0}});
  EXPECT_NO_THROW(schema.Verify(same));
  same.set_output(0, "i1");
  EXPECT_THROW(schema.Verify(same), EnforceNotMet);
}

TEST(OpSchemaTest, InplaceMayBeEnforced) {
  OpSchema schema = Schema();
  schema.EnforceInplace({{1, 0}});
  OperatorDef def = Def(2, 1);
  EXPECT_THROW(schema.Verify(def), EnforceNotMet);
  def.set_output(0, "i1");
  EXPECT_NO_THROW(schema.Verify(def));
}

TEST(OpSchemaTest, RequiredArgument) {
  OpSchema schema = Schema();
  schema.Arg("size", "how large", true);
  OperatorDef def = Def(0, 0);
  EXPECT_THROW(schema.Verify(def), EnforceNotMet);
  *def.add_arg() = MakeArgument("size", 3);
  EXPECT_NO_THROW(schema.Verify(def));
}

TEST(OpSchemaTest, ArgumentsHaveTheirTypesInOrder) {
  OpSchema schema = Schema();
  schema.Arg<int>("i", "").Arg<bool>("b", "").Arg<float>("f", "").Arg<std::string>("s", "");
  schema.Arg<NetDef>("n", "").Arg<TensorProto::DataType>("t", "").ArgIsTest("");
  schema.ArgList<int>("is", "").ArgList<float>("fs", "").ArgList<std::string>("ss", "");
  schema.Arg("external", "of an operator of Caffe2");
  std::string types;
  for (const OpSchema::Parameter& arg : schema.args()) {
    types += arg.name + ": " + ArgumentTypeName(arg.type) + "; ";
    EXPECT_FALSE(arg.required);
    EXPECT_TRUE(arg.choices.empty());
  }
  EXPECT_EQ(types,
            "i: int; b: bool; f: float; s: string; n: net; t: data type; is_test: int; "
            "is: list of int; fs: list of float; ss: list of string; external: any; ");
}

TEST(OpSchemaTest, ArgumentsOfStringsMayHaveChoices) {
  OpSchema schema = Schema();
  schema.ArgOneOf("mode", {"fast", "exact"}, "how", /*required=*/true).ArgOrder();
  const OpSchema::Parameter &mode = schema.args()[0], &order = schema.args()[1];
  EXPECT_EQ(mode.type, ArgumentType::kString);
  EXPECT_EQ(mode.choices, (std::vector<std::string>{"fast", "exact"}));
  EXPECT_EQ(mode.description, "how");
  EXPECT_TRUE(mode.required);
  EXPECT_EQ(order.name, "order");
  EXPECT_EQ(order.choices, (std::vector<std::string>{"NCHW", "NHWC"}));
  EXPECT_FALSE(order.required);
  EXPECT_THROW(schema.Verify(Def(0, 0)), EnforceNotMet);
}

TEST(OpSchemaTest, InferenceOfUnknownInputsIsUnknown) {
  OpSchema schema = Schema();
  schema.IdenticalTypeAndShape();
  const TensorShape known = CreateTensorShape({2, 3}, TensorProto::INT64);
  EXPECT_EQ(GetDimsVector(schema.InferTensor(Def(1, 1), {known})[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(schema.InferTensor(Def(1, 1), {UnknownTensorShape()})[0].unknown_shape());
  EXPECT_EQ(schema.InferTensor(Def(1, 1), {known})[0].data_type(), TensorProto::INT64);
}

TEST(OpSchemaTest, InferenceDoesNotWaitForWhatIsNoTensor) {
  OpSchema schema = Schema();
  schema.NonTensorInputs({0}).NonTensorOutputs({1}).TensorInferenceFunction(
      [](const OperatorDef&, const std::vector<TensorShape>& in) {
        return std::vector<TensorShape>{in[1], in[1]};
      });
  const TensorShape known = CreateTensorShape({2, 3}, TensorProto::INT64);
  const auto shapes = schema.InferTensor(Def(2, 2), {UnknownTensorShape(), known});
  EXPECT_EQ(GetDimsVector(shapes[0]), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(shapes[1].unknown_shape());
  EXPECT_TRUE(schema.InferTensor(Def(2, 2), {known, UnknownTensorShape()})[0].unknown_shape());
  EXPECT_FALSE(schema.is_tensor_input(0));
  EXPECT_TRUE(schema.is_tensor_input(1));
  EXPECT_FALSE(schema.is_tensor_output(1));
}

TEST(OpSchemaTest, AnUnknownTypeHasNoBytes) {
  const TensorShape shape = CreateTensorShape({2, 3}, TensorProto::UNDEFINED);
  EXPECT_EQ(NumelOf(shape), 6);
  EXPECT_EQ(NbytesOf(shape), 0u);
}

TEST(OpSchemaTest, CostWithoutAFunctionComesFromShapes) {
  OpSchema schema = Schema();
  schema.IdenticalTypeAndShape();
  const auto cost = schema.InferCost(Def(1, 1), {CreateTensorShape({2, 3}, TensorProto::FLOAT)});
  EXPECT_EQ(cost.bytes_read, 24u);
  EXPECT_EQ(cost.bytes_written, 24u);
  EXPECT_EQ(cost.flops, 6u);
}

TEST(ArgumentTest, TypesAndRanges) {
  OperatorDef def;
  *def.add_arg() = MakeArgument("i", int64_t{1} << 40);
  *def.add_arg() = MakeArgument("f", 2.5f);
  *def.add_arg() = MakeArgument("s", std::string("text"));
  *def.add_arg() = MakeArgument("list", std::vector<int>{1, 2, 3});
  *def.add_arg() = MakeArgument("net", [] {
    NetDef net;
    net.set_name("inner");
    return net;
  }());
  const ArgumentHelper args(def);
  EXPECT_EQ(args.GetSingleArgument<int64_t>("i", 0), int64_t{1} << 40);
  EXPECT_THROW(args.GetSingleArgument<int>("i", 0), EnforceNotMet);
  EXPECT_FLOAT_EQ(args.GetSingleArgument<float>("f", 0), 2.5f);
  EXPECT_FLOAT_EQ(args.GetSingleArgument<float>("i", 0), float(int64_t{1} << 40));
  EXPECT_THROW(args.GetSingleArgument<int>("f", 0), EnforceNotMet);
  EXPECT_EQ(args.GetSingleArgument<std::string>("s", ""), "text");
  EXPECT_EQ(args.GetSingleArgument<std::string>("absent", "default"), "default");
  EXPECT_EQ(args.GetRepeatedArgument<int>("list"), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(args.GetRepeatedArgument<float>("list"), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(args.GetRepeatedArgument<float>("f"), (std::vector<float>{2.5f}));
  EXPECT_EQ(args.GetRepeatedArgument<int>("absent", {7}), std::vector<int>{7});
  EXPECT_EQ(args.GetSingleArgument<NetDef>("net", NetDef()).name(), "inner");
  EXPECT_TRUE(args.HasSingleArgumentOfType<float>("i"));
  EXPECT_FALSE(args.HasSingleArgumentOfType<int>("s"));
}

// The text of the error that `read` throws, up to the place in the code.
std::string ArgumentErrorOf(const std::function<void()>& read) {
  try {
    read();
  } catch (const EnforceNotMet& error) {
    const std::string text = error.what();
    return text.substr(0, text.find(" [enforce fail"));
  }
  return "no error";
}

TEST(ArgumentTest, AnotherTypeIsAnErrorThatNamesBothTypes) {
  OperatorDef def;
  *def.add_arg() = MakeArgument("i", 300);
  *def.add_arg() = MakeArgument("f", 2.5f);
  *def.add_arg() = MakeArgument("s", std::string("text"));
  *def.add_arg() = MakeArgument("ints", std::vector<int>{1, 2});
  *def.add_arg() = MakeArgument("floats", std::vector<float>{1.5f});
  *def.add_arg() = MakeArgument("empty", std::vector<float>{});
  const ArgumentHelper args(def);
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetSingleArgument<int>("f", 0); }),
            "argument f must be an integer, found a float");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetSingleArgument<float>("ints", 0); }),
            "argument ints must be a float, found a list of integers");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetSingleArgument<int8_t>("i", 0); }),
            "argument i must be from -128 to 127, found 300");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetRepeatedArgument<int>("f"); }),
            "argument f must be a list of integers, found a float");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetRepeatedArgument<float>("s"); }),
            "argument s must be a list of floats, found a string");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetRepeatedArgument<int>("floats"); }),
            "argument floats must be a list of integers, found a list of floats");
  EXPECT_EQ(ArgumentErrorOf([&] { args.GetRepeatedArgument<std::string>("ints"); }),
            "argument ints must be a list of strings, found a list of integers");
  EXPECT_TRUE(args.GetRepeatedArgument<int>("empty").empty()) << "an empty list has no type";
}

TEST(ArgumentTest, ContradictingDuplicatesThrow) {
  OperatorDef def;
  *def.add_arg() = MakeArgument("i", 1);
  *def.add_arg() = MakeArgument("i", 1);
  EXPECT_NO_THROW(ArgumentHelper{def});
  *def.add_arg() = MakeArgument("i", 2);
  EXPECT_THROW(ArgumentHelper{def}, EnforceNotMet);
}

}  // namespace
}  // namespace caffe2
