// If, While, Do, the counters, Print and Summarize.
#include <stdlib.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

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
               "where bool is asked for");
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
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
  const NetDef net = Net("inner", {Scale("in", "local", 2), Scale("local", "out", 5)});
  RunOp(&ws, Do(net), true);
  ExpectTensor(ws, "Y", {1}, {30});
  EXPECT_FALSE(ws.HasBlob("local"));
  EXPECT_FALSE(ws.HasBlob("in"));
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}), true);
  EXPECT_TRUE(*Fetch(ws, "has").data<bool>());
  Feed<float>(&ws, "X", {1}, {4});
  RunOp(&ws, Do(net, {MakeArgument("reuse_workspace", 1)}), true);
  ExpectTensor(ws, "Y", {1}, {40});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
  RunOp(&ws, Op("HasScope", {"scope"}, {"has"}), true);
  EXPECT_FALSE(*Fetch(ws, "has").data<bool>());
}

TEST(DoOpTest, Gradient) {
  Workspace ws;
  Feed<float>(&ws, "X", {2}, {0.4f, -1});
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
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
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
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
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
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
  RunOp(&ws, Op("CreateScope", {}, {"scope"}), true);
  const auto bound = [](std::vector<std::string> inner, std::vector<int> index) {
    return Op("Do", {"X", "scope"}, {"Y", "scope"},
              {MakeArgument("net", Net("inner", {})), MakeArgument("inner_blobs", inner),
               MakeArgument("outer_blobs_idx", index)});
  };
  ExpectThrows(&ws, bound({"a"}, {0, 1}), "differ in length");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 2}), "out of range");
  ExpectThrows(&ws, bound({"a", "b"}, {0, 0}), "bound twice");
  ExpectThrows(&ws, bound({"a", "a"}, {0, 1}), "bound twice");
  ExpectThrows(&ws, bound({"a"}, {0}), "not all");
  ExpectThrows(&ws, Op("Do", {"scope", "X"}, {"Y", "scope"}, {MakeArgument("net", Net("n", {}))}),
               "same scope");
}

TEST(CounterOpTest, CountsUpAndDown) {
  Workspace ws;
  RunOp(&ws, Op("CreateCounter", {}, {"c"}, {MakeArgument("init_count", 2)}), true);
  const auto count = [&ws](const char* type) {
    RunOp(&ws, Op(type, {"c"}, {"value"}), true);  // the input is no tensor
    return *Fetch(ws, "value").data<int64_t>();
  };
  const auto question = [&ws](const char* type) {
    RunOp(&ws, Op(type, {"c"}, {"value"}), true);  // the input is no tensor
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
  ExpectThrows(&nowhere, Op("Summarize", {"none"}, {"Y"}), "nothing to summarize");
  ExpectThrows(&nowhere, Op("Print", {"X"}, {}, {MakeArgument("every_n", 0)}), "positive");
}

}  // namespace
}  // namespace caffe2::testing
