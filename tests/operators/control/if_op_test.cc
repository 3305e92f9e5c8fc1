#include "caffe2/core/net.h"
#include "tests/core/test_operators.h"
#include "tests/operators/control/control_test_util.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

void FeedBool(Workspace* ws, const std::string& name, bool value) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize();
  *tensor->mutable_data<bool>() = value;
}

TEST(IfOpTest, RunsOneBranch) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {3});
  const OperatorDef both = Op("If", {"C", "X"}, {"Y"},
                              {MakeArgument("then_net", Net("then", {Scale("X", "Y", 2)})),
                               MakeArgument("else_net", Net("else", {Scale("X", "Y", -1)}))});
  FeedBool(&ws, "C", true);
  RunOp(&ws, both, true);
  ExpectTensor(ws, "Y", {1}, {6});
  FeedBool(&ws, "C", false);
  RunOp(&ws, both, true);
  ExpectTensor(ws, "Y", {1}, {-3});
  // Without an else branch nothing happens.
  RunOp(&ws,
        Op("If", {"C", "X"}, {"Y"}, {MakeArgument("then_net", Net("then", {Scale("X", "Y", 5)}))}),
        true);
  ExpectTensor(ws, "Y", {1}, {-3});
  ExpectThrows(&ws, Op("If", {"C", "X"}, {"Y"}), "needs the argument then_net");
  ExpectThrows(&ws, Op("If", {"X"}, {"Y"}, {MakeArgument("then_net", Net("n", {}))}),
               "where bool is needed");
}

TEST(IfOpTest, BranchesWriteSeveralBlobs) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {3, -1});
  const auto scaled = [](const char* name, float a, float b, float c) {
    return Net(name, {Scale("X", "A", a), Scale("X", "B", b), Scale("X", "C", c)});
  };
  const OperatorDef both = Op("If", {"condition", "X"}, {"A", "B", "C"},
                              {MakeArgument("then_net", scaled("then", 2, 3, 4)),
                               MakeArgument("else_net", scaled("else", -1, 0.5f, 0))});
  FeedBool(&ws, "condition", true);
  RunOp(&ws, both, true);
  ExpectTensor(ws, "A", {2}, {6, -2});
  ExpectTensor(ws, "B", {2}, {9, -3});
  ExpectTensor(ws, "C", {2}, {12, -4});
  FeedBool(&ws, "condition", false);
  RunOp(&ws, both, true);
  ExpectTensor(ws, "A", {2}, {-3, 1});
  ExpectTensor(ws, "B", {2}, {1.5f, -0.5f});
  ExpectTensor(ws, "C", {2}, {0, 0});
}

TEST(WhileOpTest, CountsDown) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {1}, {5});
  Feed<int32_t>(&ws, "one", {1}, {1});
  Feed<int32_t>(&ws, "zero", {1}, {0});
  Feed<float>(&ws, "X", {1}, {1});
  FeedBool(&ws, "C", true);
  const NetDef body = Net("body", {Scale("X", "X", 2), Op("Sub", {"i", "one"}, {"i"})});
  const NetDef condition = Net("condition", {Op("GT", {"i", "zero"}, {"C"})});
  RunOp(&ws,
        Op("While", {"C", "i", "one", "zero", "X"}, {"X", "i", "C"},
           {MakeArgument("loop_net", body), MakeArgument("cond_net", condition)}),
        true);
  ExpectTensor(ws, "X", {1}, {32});
  EXPECT_EQ(FetchValues<int32_t>(ws, "i"), (Ints{0}));
  // The condition may be written by the body.
  Feed<int32_t>(&ws, "i", {1}, {2});
  FeedBool(&ws, "C", true);
  NetDef both = body;
  *both.add_op() = condition.op(0);
  RunOp(&ws,
        Op("While", {"C", "i", "one", "zero", "X"}, {"X", "i", "C"},
           {MakeArgument("loop_net", both)}),
        true);
  ExpectTensor(ws, "X", {1}, {128});
  FeedBool(&ws, "C", false);
  RunOp(&ws, Op("While", {"C"}, {}, {MakeArgument("loop_net", both)}), true);
  ExpectTensor(ws, "X", {1}, {128});
}

TEST(WhileOpTest, BodyWritesSeveralBlobs) {
  Workspace ws;
  Feed<int32_t>(&ws, "i", {1}, {3});
  Feed<int32_t>(&ws, "one", {1}, {1});
  Feed<int32_t>(&ws, "zero", {1}, {0});
  Feed<float>(&ws, "X", {2}, {1, -2});
  Feed<float>(&ws, "Y", {2}, {5, 7});
  FeedBool(&ws, "C", true);
  const NetDef body = Net("body", {Op("Sub", {"i", "one"}, {"i"}), Scale("X", "X", 3),
                                   Op("Add", {"X", "Y"}, {"Y"}), Op("GT", {"i", "zero"}, {"C"})});
  RunOp(&ws,
        Op("While", {"C", "i", "one", "zero", "X", "Y"}, {"C", "i", "X", "Y"},
           {MakeArgument("loop_net", body)}),
        true);
  EXPECT_EQ(FetchValues<bool>(ws, "C"), (Flags{false}));
  EXPECT_EQ(FetchValues<int32_t>(ws, "i"), (Ints{0}));
  ExpectTensor(ws, "X", {2}, {27, -54});
  ExpectTensor(ws, "Y", {2}, {5 + 3 + 9 + 27, 7 - 6 - 18 - 54});
}

// Whole nets: tests/graph/control_gradient_test.cc.
TEST(IfOpTest, Gradient) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {0.4f, -1});
  const OperatorDef op =
      Op("If", {"C", "X"}, {"Y"},
         {MakeArgument("then_net", Net("then", {Op("Sigmoid", {"X"}, {"Y"})})),
          MakeArgument("else_net", Net("else", {Op("Mul", {"X", "X"}, {"Y"})}))});
  for (const bool condition : {true, false}) {
    FeedBool(&ws, "C", condition);
    CheckGradient(&ws, op, {1});
  }
}

TEST(WhileOpTest, Gradient) {
  Workspace ws;
  Feed<float>(&ws, "Y", {2}, {0.4f, -1});
  Feed<int32_t>(&ws, "i", {1}, {3});
  Feed<int32_t>(&ws, "one", {1}, {1});
  Feed<int32_t>(&ws, "zero", {1}, {0});
  FeedBool(&ws, "C", true);
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const OperatorDef body =
      Op("Do", {"Y", "i", "one", "scope"}, {"Y", "i", "scope"},
         {MakeArgument("net", Net("inner", {Scale("y", "t", 1.5f), Op("Sigmoid", {"t"}, {"y"}),
                                            Op("Sub", {"n", "one"}, {"n"})})),
          MakeArgument("inner_blobs", std::vector<std::string>{"y", "n", "one"}),
          MakeArgument("outer_blobs_idx", std::vector<int>{0, 1, 2}),
          MakeArgument("copy_external_blobs", 1)});
  const OperatorDef loop =
      Op("While", {"C", "Y", "i", "one", "zero"}, {"Y", "i", "C"},
         {MakeArgument("loop_net", Net("loop", {body})),
          MakeArgument("cond_net", Net("condition", {Op("GT", {"i", "zero"}, {"C"})}))});
  CheckGradient(&ws, loop, {1});
}

// Random numbers of nets inside operators go on from run to run, and where a checkpoint left
// off.
TEST(ControlOpTest, RandomStateOfNestedNets) {
  const auto draw = [](const std::string& blob, uint32_t seed) {
    OperatorDef op =
        Op("UniformFill", {}, {blob}, {MakeArgument("shape", std::vector<int64_t>{3})});
    op.mutable_device_option()->set_random_seed(seed);
    return op;
  };
  const OperatorDef in_do = Op("Do", {"scope"}, {"D", "scope"},
                               {MakeArgument("net", Net("inner", {draw("d", 1)})),
                                MakeArgument("inner_blobs", std::vector<std::string>{"d"}),
                                MakeArgument("outer_blobs_idx", std::vector<int>{0})});
  const NetDef net =
      Net("random",
          {Op("CreateScope", {}, {"scope"}), draw("A", 2),
           Op("If", {"C"}, {"D", "scope"},
              {MakeArgument("then_net", Net("then", {in_do})),
               MakeArgument("else_net", Net("else", {draw("E", 3)}))}),
           Op("While", {"C"}, {"B", "C"},
              {MakeArgument("loop_net", Net("loop", {draw("B", 4), Op("Not", {"C"}, {"C"})}))}),
           draw("F", 5)});
  const auto run = [](Workspace* ws, bool condition) {
    FeedBool(ws, "C", condition);
    ASSERT_TRUE(ws->RunNet("random"));
  };
  const auto make = [&net](Workspace* ws) {
    FeedBool(ws, "C", true);
    return ws->CreateNet(net);
  };
  Workspace ws, resumed;
  NetBase* original = make(&ws);
  run(&ws, true);
  const std::vector<float> first = FetchValues<float>(ws, "D");
  run(&ws, true);
  EXPECT_NE(FetchValues<float>(ws, "D"), first) << "every run draws the same numbers";
  run(&ws, false);
  const std::vector<uint64_t> state = original->RandomState();
  EXPECT_EQ(state.size(), 10u);
  make(&resumed)->SetRandomState(state);
  run(&resumed, false);
  run(&resumed, true);
  run(&ws, false);
  run(&ws, true);
  for (const char* blob : {"A", "B", "D", "E", "F"}) {
    EXPECT_EQ(FetchValues<float>(resumed, blob), FetchValues<float>(ws, blob)) << blob;
  }
  std::vector<uint64_t> short_state = state;
  short_state.pop_back();
  EXPECT_THROW(original->SetRandomState(short_state), EnforceNotMet);
}

}  // namespace
}  // namespace caffe2::testing
