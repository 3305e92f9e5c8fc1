#include "caffe2/core/nested_net.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

// first, second -> second, first + second; the sum is a scan output, too. Goes on below `limit`.
NetDef Fibonacci(float limit) {
  NetDef net;
  const auto add = [&net](const OperatorDef& op) { *net.add_op() = op; };
  add(Op("Add", {"first", "second"}, {"third"}));
  add(Op("ConstantFill", {}, {"limit"},
         {MakeArgument("shape", std::vector<int>{1}), MakeArgument("value", limit)}));
  add(Op("LT", {"third", "limit"}, {"goes_on"}));
  for (const char* name : {"i", "condition", "first", "second"}) net.add_external_input(name);
  for (const char* name : {"goes_on", "second", "third", "third"}) net.add_external_output(name);
  return net;
}

class OnnxWhileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    Feed<int64_t>(&ws_, "trips", {}, {4});
    FeedCondition(true);
    Feed<float>(&ws_, "one", {1}, {1});
  }
  void FeedCondition(bool value) {
    Tensor* tensor = BlobGetMutableTensor(ws_.CreateBlob("go"), Device{});
    tensor->Resize();
    *tensor->mutable_data<bool>() = value;
  }
  static OperatorDef Loop(const NetDef& body, std::vector<Argument> args) {
    args.push_back(MakeArgument("body", body));
    return Op("ONNXWhile", {"trips", "go", "one", "one"}, {"a", "b", "c"}, args);
  }
  void ExpectFibonacci(float a, float b, const Floats& c) {
    EXPECT_EQ(FetchValues<float>(ws_, "a"), Floats{a});
    EXPECT_EQ(FetchValues<float>(ws_, "b"), Floats{b});
    ExpectTensor(ws_, "c", {static_cast<int64_t>(c.size())}, c);
  }

  const Argument trips_ = MakeArgument("has_trip_count", 1), cond_ = MakeArgument("has_cond", 1);
  Workspace ws_;
};

TEST_F(OnnxWhileTest, EndsByCountOrCondition) {
  for (const char* scopes : {"none", "save_scopes", "disable_scopes"}) {
    SCOPED_TRACE(scopes);
    const Argument mode = MakeArgument(scopes, 1);
    RunOp(&ws_, Loop(Fibonacci(100), {trips_, cond_, mode}), true);
    ExpectFibonacci(5, 8, {2, 3, 5, 8});
    RunOp(&ws_, Loop(Fibonacci(4), {trips_, cond_, mode}), true);
    ExpectFibonacci(3, 5, {2, 3, 5});
    RunOp(&ws_, Loop(Fibonacci(20), {cond_, mode}), true);
    ExpectFibonacci(13, 21, {2, 3, 5, 8, 13, 21});
    RunOp(&ws_, Loop(Fibonacci(0), {trips_, mode}), true);
    ExpectFibonacci(5, 8, {2, 3, 5, 8});
  }
}

TEST_F(OnnxWhileTest, NoIterationLeavesTheInitialValues) {
  const OperatorDef op = Loop(Fibonacci(100), {trips_, cond_});
  FeedCondition(false);
  RunOp(&ws_, op, true);
  EXPECT_EQ(FetchValues<float>(ws_, "a"), Floats{1});
  EXPECT_EQ(FetchValues<int32_t>(ws_, "c"), std::vector<int32_t>{});
  FeedCondition(true);
  Feed<int64_t>(&ws_, "trips", {1}, {0});
  RunOp(&ws_, op, true);
  EXPECT_EQ(Fetch(ws_, "c").sizes(), std::vector<int64_t>{0});
}

// The carried values change places: each iteration gets what the last one ended with.
TEST_F(OnnxWhileTest, ValuesAreHandedOnAtOnce) {
  NetDef swap;
  *swap.add_op() = Op("Copy", {"i"}, {"trip"});
  *swap.add_op() = Op("Copy", {"condition"}, {"goes_on"});
  for (const char* name : {"i", "condition", "x", "y"}) swap.add_external_input(name);
  for (const char* name : {"goes_on", "y", "x", "trip"}) swap.add_external_output(name);
  Feed<float>(&ws_, "p", {2}, {1, 2});
  Feed<float>(&ws_, "q", {1}, {3});
  Feed<int64_t>(&ws_, "trips", {}, {3});
  RunOp(&ws_,
        Op("ONNXWhile", {"trips", "go", "p", "q"}, {"p", "q", "t"},
           {MakeArgument("body", swap), trips_}),
        true);
  ExpectTensor(ws_, "p", {1}, {3});
  ExpectTensor(ws_, "q", {2}, {1, 2});
  EXPECT_EQ(FetchValues<int64_t>(ws_, "t"), (std::vector<int64_t>{0, 1, 2})) << "scalars";
}

TEST_F(OnnxWhileTest, TheBodySeesTheWorkspace) {
  Feed<float>(&ws_, "step", {1}, {10});
  NetDef body;
  *body.add_op() = Op("Add", {"x", "step"}, {"sum"});
  for (const char* name : {"i", "condition", "x"}) body.add_external_input(name);
  for (const char* name : {"condition", "sum", "sum"}) body.add_external_output(name);
  const OperatorDef op =
      Op("ONNXWhile", {"trips", "go", "one"}, {"y", "all"}, {MakeArgument("body", body), trips_});
  RunOp(&ws_, op, true);
  ExpectTensor(ws_, "y", {1}, {41});
  ExpectTensor(ws_, "all", {4}, {11, 21, 31, 41});
  EXPECT_FALSE(ws_.HasBlob("sum"));
  const Operands operands = OperandsOf(op);
  EXPECT_EQ(operands.reads, (std::vector<std::string>{"trips", "go", "one", "step"}));
  EXPECT_EQ(operands.may_keep, std::vector<std::string>{"sum"});
  RunOp(&ws_,
        Op("ONNXWhile", {"trips", "go", "one"}, {"y", "all"},
           {MakeArgument("body", body), trips_, MakeArgument("disable_scopes", 1)}),
        true);
  EXPECT_TRUE(ws_.HasBlob("sum"));
}

TEST_F(OnnxWhileTest, RefusesWhatDoesNotFit) {
  NetDef body = Fibonacci(100);
  ExpectThrows(&ws_,
               Loop(body, {MakeArgument("save_scopes", 1), MakeArgument("disable_scopes", 1)}),
               "cannot be used together");
  ExpectThrows(&ws_, Loop(body, {MakeArgument("num_loop_carried_deps", 3)}),
               "num_loop_carried_deps (3) is too large");
  body.mutable_external_output()->RemoveLast();
  ExpectThrows(&ws_, Loop(body, {trips_}),
               "the body must have 4 external outputs (condition, 2 loop-carried blobs and 1 scan "
               "outputs), found 3");
  body.mutable_external_input()->RemoveLast();
  ExpectThrows(&ws_, Loop(body, {trips_}), "the body must have at least 4 external inputs");
  body = Fibonacci(100);
  body.set_external_output(3, "nowhere");
  ExpectThrows(&ws_, Loop(body, {trips_}), "external output nowhere");
  Feed<int64_t>(&ws_, "trips", {2}, {1, 2});
  ExpectThrows(&ws_, Loop(Fibonacci(100), {trips_}),
               "a trip count or condition must have one element, found 2");
}

// A scan output has the same shape every time.
TEST_F(OnnxWhileTest, ScanOutputsDoNotChangeTheirShape) {
  NetDef body;
  *body.add_op() = Op("Concat", {"x", "x"}, {"xx", "lengths"}, {MakeArgument("axis", 0)});
  for (const char* name : {"i", "condition", "x"}) body.add_external_input(name);
  for (const char* name : {"condition", "xx", "xx"}) body.add_external_output(name);
  ExpectThrows(
      &ws_,
      Op("ONNXWhile", {"trips", "go", "one"}, {"y", "all"}, {MakeArgument("body", body), trips_}),
      "changes its shape from [2] to [4]");
}

}  // namespace
}  // namespace caffe2::testing
