// Copies, StopGradient and its kin, Cast, Reshape, Flatten, Concat and Split.
#include <cmath>

#include "tests/operators/op_test.h"
#include "tests/operators/test_device.h"

namespace caffe2::testing {
namespace {

TEST(CopyOpTest, CopiesAnyType) {
  for (const char* type :
       {"Copy", "CopyFromCPUInput", "EnsureCPUOutput", "StopGradient", "NegateGradient", "Alias"}) {
    Workspace ws;
    Feed<std::string>(&ws, "text", {2}, {"a", "b"});
    Feed<float>(&ws, "X", {1, 2}, {1, 2});
    RunOp(&ws, Op(type, {"text"}, {"Y"}));
    EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (std::vector<std::string>{"a", "b"})) << type;
    RunOp(&ws, Op(type, {"X"}, {"Z"}));
    ExpectTensor(ws, "Z", {1, 2}, {1, 2});
    EXPECT_EQ(Fetch(ws, "Z").shares_storage_with(Fetch(ws, "X")), std::string(type) == "Alias");
    BlobGetMutableTensor(ws.CreateBlob("empty"), Device{})->Resize(3);
    ExpectThrows(&ws, Op(type, {"empty"}, {"Y"}), "no data");
  }
}

TEST(CopyOpTest, Gradients) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 2}, 1);
  FeedRandom(&ws, "like", {1}, 1);
  for (const char* type : {"Copy", "CopyFromCPUInput", "EnsureCPUOutput", "Alias"}) {
    CheckGradient(&ws, Op(type, {"X"}, {"Y"}), {0});
  }
  CheckGradient(&ws, Op("CopyOnDeviceLike", {"X", "like"}, {"Y"}), {0});
}

TEST(StopGradientOpTest, InPlaceAndGradients) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {1, 2});
  Feed<float>(&ws, "dY", {2}, {3, -4});
  RunOp(&ws, Op("StopGradient", {"X"}, {"X"}));
  ExpectTensor(ws, "X", {2}, {1, 2});
  GradientWrapper dense;
  dense.dense = "dY";
  EXPECT_TRUE(GetGradientForOp(Op("StopGradient", {"X"}, {"Y"}), {dense}).g_input[0].IsEmpty());

  const GradientOpsMeta negated = GetGradientForOp(Op("NegateGradient", {"X"}, {"Y"}), {dense});
  ASSERT_EQ(negated.ops.size(), 1u);
  EXPECT_EQ(negated.ops[0].type(), "Negative");
  EXPECT_EQ(negated.g_input[0].dense, negated.ops[0].output(0));

  RunOp(&ws, Op("ZeroGradient", {"X"}, {}));
  const GradientOpsMeta zero = GetGradientForOp(Op("ZeroGradient", {"X"}, {}), {});
  ASSERT_EQ(zero.ops.size(), 1u);
  RunOp(&ws, zero.ops[0]);
  ExpectTensor(ws, zero.g_input[0].dense, {2}, {0, 0});
}

Argument To(TensorProto::DataType type) { return MakeArgument("to", static_cast<int>(type)); }

TEST(CastOpTest, ConvertsNumbers) {
  Workspace ws;
  Feed<float>(&ws, "X", {5}, {1.7f, -1.7f, 300.f, -1e20f, std::nanf("")});
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::INT32)}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "Y"), (std::vector<int32_t>{1, -1, 300, INT32_MIN, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::UINT8)}));
  EXPECT_EQ(FetchValues<uint8_t>(ws, "Y"), (std::vector<uint8_t>{1, 0, 255, 0, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"Y"}, {MakeArgument("to", std::string("int64"))}));
  EXPECT_EQ(FetchValues<int64_t>(ws, "Y"), (std::vector<int64_t>{1, -1, 300, INT64_MIN, 0}));
  RunOp(&ws, Op("Cast", {"X"}, {"half"}, {To(TensorProto::FLOAT16)}));
  EXPECT_EQ(FetchValues<float16>(ws, "half")[2], ToFloat16(300.f));
  RunOp(&ws, Op("Cast", {"half"}, {"Y"}, {To(TensorProto::BFLOAT16)}));
  EXPECT_EQ(FetchValues<bfloat16>(ws, "Y")[0], ToBFloat16(ToFloat(ToFloat16(1.7f))));

  Feed<uint8_t>(&ws, "bytes", {3}, {0, 128, 255});
  RunOp(&ws, Op("Cast", {"bytes"}, {"Y"}, {To(TensorProto::FLOAT)}));
  ExpectTensor(ws, "Y", {3}, {0, 128, 255});
  RunOp(&ws, Op("Cast", {"bytes"}, {"flags"}, {To(TensorProto::BOOL)}));
  RunOp(&ws, Op("Cast", {"flags"}, {"Y"}, {To(TensorProto::DOUBLE)}));
  EXPECT_EQ(FetchValues<double>(ws, "Y"), (std::vector<double>{0, 1, 1}));
  RunOp(&ws, Op("Cast", {"bytes"}, {"Y"}, {To(TensorProto::INT8)}));
  EXPECT_EQ(FetchValues<int8_t>(ws, "Y"), (std::vector<int8_t>{0, -128, -1}));
}

TEST(CastOpTest, WritesNumbersAsText) {
  if (TestsCuda()) GTEST_SKIP() << "text exists in host memory only";
  using Strings = std::vector<std::string>;
  Workspace ws;
  const OperatorDef op = Op("Cast", {"X"}, {"Y"}, {To(TensorProto::STRING)});
  Feed<int64_t>(&ws, "X", {2}, {-7, int64_t{1} << 40});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"-7", "1099511627776"}));
  Feed<uint8_t>(&ws, "X", {1}, {65});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), Strings{"65"});
  Feed<float>(&ws, "X", {2}, {0.5f, -2});
  RunOp(&ws, op);
  EXPECT_EQ(FetchValues<std::string>(ws, "Y"), (Strings{"0.500000", "-2.000000"}));
  Feed<std::string>(&ws, "X", {1}, {"1"});
  ExpectThrows(&ws, op, "cannot cast");
}

TEST(CastOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {3}, 1);
  Feed<std::string>(&ws, "text", {1}, {"1"});
  const auto from = MakeArgument("from_type", std::string("float"));
  CheckGradient(&ws, Op("Cast", {"X"}, {"Y"}, {To(TensorProto::FLOAT), from}), {0});
  ExpectThrows(&ws, Op("Cast", {"text"}, {"Y"}, {To(TensorProto::FLOAT)}), "cannot cast");
  GradientWrapper dense;
  dense.dense = "dY";
  EXPECT_THROW(GetGradientForOp(Op("Cast", {"X"}, {"Y"}), {dense}), EnforceNotMet);
}

TEST(ReshapeOpTest, Shapes) {
  using Shape = std::vector<int64_t>;
  const std::vector<std::pair<Shape, Shape>> cases = {
      {{6, 4}, {6, 4}},        {{-1}, {24}},          {{0, -1}, {2, 12}}, {{0, 0, 4}, {2, 3, 4}},
      {{4, -1, 3}, {4, 2, 3}}, {{1, 0, 8}, {1, 3, 8}}};
  for (const auto& [wanted, expected] : cases) {
    Workspace ws;
    FeedRandom(&ws, "X", {2, 3, 4}, 1);
    const auto values = FetchValues<float>(ws, "X");
    RunOp(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", wanted)}));
    ExpectTensor(ws, "Y", expected, values);
    EXPECT_EQ(FetchValues<int64_t>(ws, "old"), (Shape{2, 3, 4}));
    Feed<int64_t>(&ws, "shape", {static_cast<int64_t>(wanted.size())}, wanted);
    RunOp(&ws, Op("Reshape", {"X", "shape"}, {"X", "old"}));
    ExpectTensor(ws, "X", expected, values);
    EXPECT_EQ(FetchValues<int64_t>(ws, "old"), (Shape{2, 3, 4}));
  }
}

TEST(ReshapeOpTest, EmptyTensorsTakeZerosAsTheyAre) {
  using Shape = std::vector<int64_t>;
  struct Case {
    Shape old, wanted, expected;
  };
  const std::vector<Case> cases = {{{0, 0}, {0, 0, 0}, {0, 0, 0}},
                                   {{2, 0}, {-1, 0}, {0, 0}},
                                   {{0}, {1, -1}, {1, 0}},
                                   {{1, 0}, {0}, {0}},
                                   {{0}, {0, -1}, {0, 0}}};
  for (const auto& [old, wanted, expected] : cases) {
    Workspace ws;
    Feed<float>(&ws, "X", old, {});
    RunOp(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", wanted)}));
    ExpectTensor(ws, "Y", expected, {});
  }
  Workspace ws;
  Feed<float>(&ws, "X", {0, 3}, {});
  ExpectThrows(&ws, Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", Shape{2, 3})}),
               "cannot reshape");
}

TEST(ReshapeOpTest, GradientAndErrors) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3}, 1);
  const auto reshape = [](std::vector<int64_t> shape) {
    return Op("Reshape", {"X"}, {"Y", "old"}, {MakeArgument("shape", shape)});
  };
  CheckGradient(&ws, reshape({3, -1}), {0});
  ExpectThrows(&ws, reshape({4, -1}), "cannot reshape");
  ExpectThrows(&ws, reshape({7}), "cannot reshape");
  ExpectThrows(&ws, reshape({-1, -1}), "more than one");
  ExpectThrows(&ws, reshape({-2, 3}), "negative");
  ExpectThrows(&ws, reshape({2, 3, 0}), "does not have");
  ExpectThrows(&ws, Op("Reshape", {"X"}, {"Y", "old"}), "neither");
}

TEST(FlattenOpTest, Shapes) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 3, 4}, 1);
  const auto values = FetchValues<float>(ws, "X");
  const std::vector<std::pair<int, std::vector<int64_t>>> cases = {
      {0, {1, 24}}, {1, {2, 12}}, {2, {6, 4}}, {3, {24, 1}}, {-1, {6, 4}}};
  for (const auto& [axis, shape] : cases) {
    RunOp(&ws, Op("Flatten", {"X"}, {"Y"}, {MakeArgument("axis", axis)}));
    ExpectTensor(ws, "Y", shape, values);
  }
  RunOp(&ws, Op("FlattenToVec", {"X"}, {"Y"}));
  ExpectTensor(ws, "Y", {24}, values);
  FeedRandom(&ws, "like", {4, 6}, 1);
  RunOp(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}));
  ExpectTensor(ws, "Y", {4, 6}, values);
  CheckGradient(&ws, Op("Flatten", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("FlattenToVec", {"X"}, {"Y"}), {0});
  CheckGradient(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}), {0});
  ExpectThrows(&ws, Op("Flatten", {"X"}, {"Y"}, {MakeArgument("axis", 4)}), "out of range");
  FeedRandom(&ws, "like", {4}, 1);
  ExpectThrows(&ws, Op("ResizeLike", {"X", "like"}, {"Y"}), "cannot give");
  FeedRandom(&ws, "scalar", {}, 1);
  ExpectThrows(&ws, Op("FlattenToVec", {"scalar"}, {"Y"}), "dimension");
}

TEST(ConcatOpTest, JoinsAlongAnyAxis) {
  Workspace ws;
  Feed<float>(&ws, "A", {2, 1, 2}, {1, 2, 3, 4});
  Feed<float>(&ws, "B", {2, 2, 2}, {5, 6, 7, 8, 9, 10, 11, 12});
  Feed<float>(&ws, "none", {2, 0, 2}, {});
  for (const int axis : {1, -2}) {
    RunOp(&ws, Op("Concat", {"A", "none", "B"}, {"Y", "info"}, {MakeArgument("axis", axis)}));
    ExpectTensor(ws, "Y", {2, 3, 2}, {1, 2, 5, 6, 7, 8, 3, 4, 9, 10, 11, 12});
    EXPECT_EQ(FetchValues<int32_t>(ws, "info"), (std::vector<int32_t>{1, 0, 2}));
  }
  RunOp(&ws, Op("DepthConcat", {"A", "B"}, {"Y", "info"}));  // NCHW: axis 1
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{2, 3, 2}));
  RunOp(&ws, Op("Concat", {"A", "A"}, {"Y", "info"}, {MakeArgument("axis", 0)}));
  ExpectTensor(ws, "Y", {4, 1, 2}, {1, 2, 3, 4, 1, 2, 3, 4});
  const auto add_axis = MakeArgument("add_axis", 1);
  RunOp(&ws, Op("Concat", {"A", "A"}, {"Y", "info"}, {MakeArgument("axis", -1), add_axis}));
  ExpectTensor(ws, "Y", {2, 1, 2, 2}, {1, 1, 2, 2, 3, 3, 4, 4});
  EXPECT_EQ(FetchValues<int32_t>(ws, "info"), (std::vector<int32_t>{1, 1}));
  FeedRandom(&ws, "image", {1, 2, 2, 3}, 1);
  RunOp(&ws, Op("Concat", {"image", "image"}, {"Y", "info"},
                {MakeArgument("order", std::string("NHWC"))}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{1, 2, 2, 6}));
  RunOp(&ws, Op("Concat", {"image", "image"}, {"Y", "info"},
                {MakeArgument("order", std::string("NHWC")), add_axis}));
  EXPECT_EQ(Fetch(ws, "Y").sizes(), (std::vector<int64_t>{1, 2, 2, 2, 3}));
}

TEST(SplitOpTest, Splits) {
  Workspace ws;
  Feed<float>(&ws, "X", {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto axis = MakeArgument("axis", 1);
  RunOp(&ws, Op("Split", {"X"}, {"A", "B"}, {axis}));
  ExpectTensor(ws, "A", {2, 2}, {1, 2, 5, 6});
  ExpectTensor(ws, "B", {2, 2}, {3, 4, 7, 8});
  RunOp(&ws, Op("DepthSplit", {"X"}, {"A", "B"}, {MakeArgument("split", std::vector<int>{1, 3})}));
  ExpectTensor(ws, "A", {2, 1}, {1, 5});
  ExpectTensor(ws, "B", {2, 3}, {2, 3, 4, 6, 7, 8});
  Feed<int32_t>(&ws, "lengths", {3}, {0, 3, 1});
  RunOp(&ws, Op("Split", {"X", "lengths"}, {"A", "B", "C"}, {MakeArgument("axis", -1)}), true);
  ExpectTensor(ws, "A", {2, 0}, {});
  ExpectTensor(ws, "C", {2, 1}, {4, 8});
  RunOp(&ws,
        Op("Split", {"X"}, {"A", "B"}, {MakeArgument("axis", 0), MakeArgument("add_axis", 1)}));
  ExpectTensor(ws, "B", {4}, {5, 6, 7, 8});
}

TEST(SplitOpTest, GradientsOfConcatAndSplit) {
  Workspace ws;
  FeedRandom(&ws, "A", {2, 1, 2}, 1);
  FeedRandom(&ws, "B", {2, 2, 2}, 2);
  for (const char* type : {"Concat", "DepthConcat"}) {
    CheckGradient(&ws, Op(type, {"A", "B"}, {"Y", "info"}), {0, 1});
  }
  FeedRandom(&ws, "C", {2, 1, 2}, 3);
  CheckGradient(&ws,
                Op("Concat", {"A", "C"}, {"Y", "info"},
                   {MakeArgument("axis", 0), MakeArgument("add_axis", 1)}),
                {0, 1});
  GradientOptions both;
  both.outputs_with_gradient = {0, 1};
  FeedRandom(&ws, "X", {2, 4}, 3);
  for (const char* type : {"Split", "DepthSplit"}) {
    CheckGradient(&ws, Op(type, {"X"}, {"P", "Q"}, {MakeArgument("split", std::vector<int>{1, 3})}),
                  {0}, both);
  }
  CheckGradient(
      &ws, Op("Split", {"B"}, {"P", "Q"}, {MakeArgument("axis", 1), MakeArgument("add_axis", 1)}),
      {0}, both);
  GradientWrapper dense;
  dense.dense = "dP";
  EXPECT_THROW(GetGradientForOp(Op("Split", {"X"}, {"P", "Q"}), {dense, {}}), EnforceNotMet);
}

TEST(SplitOpTest, RefusesBadInput) {
  Workspace ws;
  FeedRandom(&ws, "X", {2, 4}, 1);
  FeedRandom(&ws, "long", {3, 4}, 1);
  Feed<int32_t>(&ws, "int", {2, 4}, std::vector<int32_t>(8));
  Feed<int32_t>(&ws, "lengths", {2}, {5, -1});
  const auto axis = [](int value) { return MakeArgument("axis", value); };
  ExpectThrows(&ws, Op("Concat", {"X", "long"}, {"Y", "i"}, {axis(1)}), "cannot be joined");
  ExpectThrows(&ws, Op("Concat", {"X", "int"}, {"Y", "i"}, {axis(1)}), "type");
  ExpectThrows(&ws, Op("Concat", {"X", "X"}, {"Y", "i"}, {axis(2)}), "out of range");
  ExpectThrows(&ws,
               Op("Concat", {"X", "X"}, {"Y", "i"}, {MakeArgument("order", std::string("CHWN"))}),
               "unknown order");
  ExpectThrows(&ws, Op("Split", {"X"}, {"A", "B", "C"}, {axis(1)}), "equal parts");
  ExpectThrows(&ws, Op("Split", {"X", "lengths"}, {"A", "B"}, {axis(1)}), "cannot have length");
  ExpectThrows(
      &ws, Op("Split", {"X"}, {"A", "B"}, {axis(1), MakeArgument("split", std::vector<int>{1, 2})}),
      "add up");
  ExpectThrows(&ws,
               Op("Split", {"X"}, {"A"}, {axis(1), MakeArgument("split", std::vector<int>{2, 2})}),
               "number of lengths");
}

}  // namespace
}  // namespace caffe2::testing
