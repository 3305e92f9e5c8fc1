// If, While, Do, the counters, Print and Summarize.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "caffe2/core/blob_serialization.h"
#include "caffe2/core/net.h"
#include "tests/operators/op_test.h"

namespace caffe2::testing {
namespace {

NetDef Net(const std::string& name, const std::vector<OperatorDef>& ops) {
  NetDef net;
  net.set_name(name);
  for (const OperatorDef& op : ops) *net.add_op() = op;
  return net;
}

void FeedBool(Workspace* ws, const std::string& name, bool value) {
  Tensor* tensor = BlobGetMutableTensor(ws->CreateBlob(name), Device{});
  tensor->Resize();
  *tensor->mutable_data<bool>() = value;
}

OperatorDef Scale(const std::string& in, const std::string& out, float scale) {
  return Op("Scale", {in}, {out}, {MakeArgument("scale", scale)});
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

OperatorDef Do(const NetDef& net, std::vector<Argument> args = {}) {
  args.push_back(MakeArgument("net", net));
  args.push_back(MakeArgument("inner_blobs", std::vector<std::string>{"in", "out"}));
  args.push_back(MakeArgument("outer_blobs_idx", std::vector<int>{0, 1}));
  return Op("Do", {"X", "scope"}, {"Y", "scope"}, args);
}

TEST(DoOpTest, InnerBlobsStayInside) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {3});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const NetDef net = Net("inner", {Scale("in", "local", 2), Scale("local", "out", 5)});
  RunOp(&ws, Do(net), true);
  ExpectTensor(ws, "Y", {1}, {30});
  EXPECT_FALSE(ws.HasBlob("local"));
  EXPECT_FALSE(ws.HasBlob("in"));
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}));
  EXPECT_TRUE(*Fetch(ws, "has").data<bool>());
  Feed<float>(&ws, "X", {1}, {4});
  RunOp(&ws, Do(net, {MakeArgument("reuse_workspace", 1)}), true);
  ExpectTensor(ws, "Y", {1}, {40});
  // A net that binds a name which the workspace does not know yet, and reads one that it does.
  OperatorDef more = Op(
      "Do", {"scope"}, {"Z", "scope"},
      {MakeArgument("net", Net("more", {Scale("local", "new", 3)})),
       MakeArgument("inner_blobs", std::vector<std::string>{"new"}),
       MakeArgument("outer_blobs_idx", std::vector<int>{0}), MakeArgument("reuse_workspace", 1)});
  RunOp(&ws, more, true);
  ExpectTensor(ws, "Z", {1}, {24});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}));
  EXPECT_FALSE(*Fetch(ws, "has").data<bool>());
}

TEST(DoOpTest, Gradient) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {0.4f, -1});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  CheckGradient(
      &ws,
      Do(Net("inner", {Op("Sigmoid", {"in"}, {"local"}), Op("Mul", {"local", "in"}, {"out"})})),
      {0});
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

// Two forward runs, then two gradient runs in reverse order: each finds what its own forward run
// left behind.
TEST(DoOpTest, GradientRunsFindTheirScope) {
  Workspace ws;
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const NetDef net = Net("inner", {Scale("in", "local", 2), Scale("local", "out", 5)});
  const auto copy = MakeArgument("copy_external_blobs", 1);
  for (const float x : {3.f, 7.f}) {
    Feed<float>(&ws, "X", {1}, {x});
    RunOp(&ws, Do(net, {copy}), true);
  }
  OperatorDef gradient =
      Op("Do", {"dY", "scope"}, {"dX", "scope"},
         {MakeArgument("net", Net("gradient", {Op("Mul", {"local", "d_out"}, {"product"}),
                                               Op("Add", {"product", "in"}, {"d_in"})})),
          MakeArgument("inner_blobs", std::vector<std::string>{"d_out", "d_in"}),
          MakeArgument("outer_blobs_idx", std::vector<int>{0, 1})});
  gradient.set_is_gradient_op(true);
  Feed<float>(&ws, "dY", {1}, {10});
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {1}, {147});  // local 14, in 7
  RunOp(&ws, gradient, true);
  ExpectTensor(ws, "dX", {1}, {63});  // local 6, in 3
  ExpectThrows(&ws, gradient, "no scope left");
}

TEST(DoOpTest, RefusesBadBindings) {
  Workspace ws;
  Feed<float>(&ws, "X", {1}, {3});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}));
  const auto bound = [](std::vector<std::string> inner, std::vector<int> index) {
    return Op("Do", {"X", "scope"}, {"Y", "scope"},
              {MakeArgument("net", Net("inner", {})), MakeArgument("inner_blobs", inner),
               MakeArgument("outer_blobs_idx", index)});
  };
  ExpectThrows(&ws, bound({"a"}, {0, 1}), "differ in length");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 2}), "out of range");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 0}), "bound twice");
  ExpectThrows(&ws, bound({"a", "a"}, {0, 1}), "bound twice");
  ExpectThrows(&ws, bound({"a"}, {0}), "every outer blob must be bound");
  ExpectThrows(&ws, Op("Do", {"scope", "X"}, {"Y", "scope"}, {MakeArgument("net", Net("n", {}))}),
               "same scope");
}

// Random numbers of nets inside of operators go on from run to run, and where a checkpoint left
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

TEST(CounterOpTest, CountsUpAndDown) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 2)}));
  const auto count = [&ws](const char* type) {
    RunOp(&ws, Op(type, {"c"}, {"value"}));
    return *Fetch(ws, "value").data<int64_t>();
  };
  const auto question = [&ws](const char* type) {
    RunOp(&ws, Op(type, {"c"}, {"value"}));
    return *Fetch(ws, "value").data<bool>();
  };
  EXPECT_EQ(count("CountUp"), 2);
  EXPECT_EQ(count("RetrieveCount"), 3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(question("CheckCounterDone"));
    EXPECT_FALSE(question("CountDown"));
  }
  EXPECT_TRUE(question("CheckCounterDone"));
  EXPECT_TRUE(question("CountDown"));
  RunOp(&ws, Op("ResetCounter", {"c"}, {"value"}, {MakeArgument("init_count", 9)}));
  EXPECT_EQ(*Fetch(ws, "value").data<int64_t>(), -1);
  RunOp(&ws, Op("ResetCounter", {"c"}, {}));
  EXPECT_EQ(count("RetrieveCount"), 0);
  Feed<float>(&ws, "X", {1}, {1});
  ExpectThrows(&ws, Op("CountUp", {"X"}, {"value"}), "X");
  ExpectThrows(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", -1)}), "negative");
}

// The bytes that Caffe2 writes.
TEST(CounterOpTest, IsSerializedAsOneNumber) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 41)}));
  RunOp(&ws, Op("CountUp", {"c"}, {"value"}));
  const std::string bytes = SerializeBlob(*ws.GetBlob("c"), "c");
  BlobProto proto;
  ASSERT_TRUE(proto.ParseFromString(bytes));
  EXPECT_EQ(proto.type(), "std::unique_ptr<Counter<int64_t>>");
  EXPECT_EQ(proto.tensor().data_type(), TensorProto::INT64);
  EXPECT_EQ(proto.tensor().dims_size(), 1);
  EXPECT_EQ(proto.tensor().int64_data(0), 42);
  DeserializeBlob(bytes, ws.CreateBlob("d"));
  RunOp(&ws, Op("RetrieveCount", {"d"}, {"value"}));
  EXPECT_EQ(*Fetch(ws, "value").data<int64_t>(), 42);
  proto.mutable_tensor()->set_data_type(TensorProto::FLOAT);
  proto.mutable_tensor()->clear_int64_data();
  proto.mutable_tensor()->add_float_data(1);
  EXPECT_THROW(DeserializeBlob(proto, ws.CreateBlob("d")), EnforceNotMet);
}

class PrintOpTest : public ::testing::Test {
 protected:
  PrintOpTest() {
    char pattern[] = "/tmp/print_op_test_XXXXXX";
    folder_ = mkdtemp(pattern);
  }
  ~PrintOpTest() override {
    for (const std::string& file : files_) unlink(file.c_str());
    rmdir(folder_.c_str());
  }
  std::string Read(const std::string& name) {
    files_.push_back(folder_ + "/" + name);
    std::ifstream file(files_.back());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string folder_;
  std::vector<std::string> files_;
};

TEST_F(PrintOpTest, WritesFiles) {
  Workspace ws(folder_);
  const auto to_file = MakeArgument("to_file", 1);
  Feed<float>(&ws, "gpu_0/X", {2, 2}, {1, 2.5f, -3, 4});
  RunOp(&ws, Op("Print", {"gpu_0/X"}, {}, {to_file}));
  EXPECT_EQ(Read("gpu_0#X.log"), "Tensor gpu_0/X of type float. Dims: (2,2,): 1,2.5,-3,4\n");
  Feed<uint8_t>(&ws, "bytes", {3}, {65, 66, 67});
  RunOp(&ws, Op("Print", {"bytes"}, {}, {to_file, MakeArgument("limit", 2)}));
  EXPECT_EQ(Read("bytes.log"), "Tensor bytes of type uint8_t. Dims: (3,): 65,66\n");
  RunOp(&ws, Op("Summarize", {"gpu_0/X"}, {"Y"}, {to_file}));
  // Deviation: sqrt((0.125^2 + 1.375^2 + 4.125^2 + 2.875^2) / 3).
  ExpectTensor(ws, "Y", {4}, {-3, 4, 1.125f, 3.0103986f});
  EXPECT_EQ(Read("gpu_0#X.summary"), "-3 4 1.125 3.0104\n");
}

TEST_F(PrintOpTest, EveryNthRunAndOtherBlobs) {
  Workspace ws(folder_);
  Feed<int64_t>(&ws, "i", {1}, {7});
  *ws.CreateBlob("text")->GetMutable<std::string>() = "abc";
  NetDef net = Net(
      "printing", {Op("Print", {"i"}, {}, {MakeArgument("to_file", 1), MakeArgument("every_n", 2)}),
                   Op("Print", {"text"}, {}, {MakeArgument("to_file", 1)})});
  net.add_external_input("i");
  net.add_external_input("text");
  ws.CreateNet(net);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(ws.RunNet("printing"));
  const std::string line = "Tensor i of type int64_t. Dims: (1,): 7\n";
  EXPECT_EQ(Read("i.log"), line + line);
  EXPECT_EQ(Read("text.log").substr(0, 29), "Blob text of type std::string");
  ws.DeleteNet("printing");
}

TEST_F(PrintOpTest, BadInput) {
  Workspace nowhere(folder_ + "/missing");
  Feed<float>(&nowhere, "X", {1}, {1});
  EXPECT_THROW(nowhere.RunOperatorOnce(Op("Print", {"X"}, {}, {MakeArgument("to_file", 1)})),
               IoError);
  Feed<float>(&nowhere, "none", {0}, {});
  ExpectThrows(&nowhere, Op("Summarize", {"none"}, {"Y"}), "an empty tensor has no summary");
  ExpectThrows(&nowhere, Op("Print", {"X"}, {}, {MakeArgument("every_n", 0)}), "positive");
}

}  // namespace
}  // namespace caffe2::testing
