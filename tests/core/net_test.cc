#include "caffe2/core/net.h"

#include <gtest/gtest.h>

#include <new>
#include <random>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/operator_graph.h"
#include "tests/core/test_operators.h"

namespace caffe2 {
namespace {

using testing::BodyOp;
using testing::FeedScalar;
using testing::FetchScalar;
using testing::Net;
using testing::TestBodies;

OperatorDef SumPlusOne(const std::vector<std::string>& inputs,
                       const std::vector<std::string>& outputs) {
  return GradientMakerBase::CreateOperatorDef("TestSumPlusOne", "", inputs, outputs);
}

std::string ErrorOf(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void ExpectContains(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    EXPECT_NE(text.find(part), std::string::npos) << "no '" << part << "' in: " << text;
  }
}

class NetTypeTest : public ::testing::TestWithParam<const char*> {};

TEST_P(NetTypeTest, RandomGraphsGiveTheResultOfDefinitionOrder) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    NetDef net = Net("random", {}, GetParam());
    net.set_num_workers(1 + trial % 4);
    const int blobs = 6;
    for (int i = 0; i < 60; ++i) {
      std::vector<std::string> inputs;
      for (int k = random() % 3; k >= 0; --k)
        inputs.push_back("b" + std::to_string(random() % blobs));
      *net.add_op() = SumPlusOne(inputs, {"b" + std::to_string(random() % blobs)});
    }
    std::vector<float> results[2];
    for (int reference = 0; reference < 2; ++reference) {
      Workspace ws;
      for (int b = 0; b < blobs; ++b) FeedScalar(&ws, "b" + std::to_string(b), float(b) / 8);
      NetDef def = net;
      if (reference) def.set_type("simple");
      // Values stay exact in float: they are folded back after each run.
      NetBase* created = ws.CreateNet(def);
      for (int run = 0; run < 3; ++run) {
        ASSERT_TRUE(created->Run());
        for (int b = 0; b < blobs; ++b) {
          const float value = FetchScalar(ws, "b" + std::to_string(b));
          results[reference].push_back(value);
          FeedScalar(&ws, "b" + std::to_string(b), std::fmod(value, 16.f));
        }
      }
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST_P(NetTypeTest, ControlInputOrdersOperatorsThatShareNoBlob) {
  std::vector<int> order;
  std::mutex mutex;
  auto note = [&](int value, int milliseconds) {
    return [&, value, milliseconds](OperatorBase* op) {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      std::lock_guard<std::mutex> lock(mutex);
      order.push_back(value);
      return true;
    };
  };
  TestBodies()["slow"] = note(1, 20);
  TestBodies()["fast"] = note(2, 0);
  Workspace ws;
  NetDef net = Net("ordered", {BodyOp("slow", {}, {"a"}), BodyOp("fast", {}, {"b"})}, GetParam());
  net.set_num_workers(4);
  net.mutable_op(1)->add_control_input("a");
  NetBase* created = ws.CreateNet(net);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(created->Run());
  EXPECT_EQ(order, (std::vector<int>{1, 2, 1, 2, 1, 2, 1, 2, 1, 2}));
}

TEST_P(NetTypeTest, AnErrorNamesNetOperatorAndBlobAndTheNetRunsAgain) {
  bool fail = true;
  TestBodies()["maybe"] = [&](OperatorBase* op) {
    CAFFE_ENFORCE(!fail, "planned failure");
    return true;
  };
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  NetDef net =
      Net("failing",
          {SumPlusOne({"x"}, {"y"}), BodyOp("maybe", {"y"}, {"z"}), SumPlusOne({"z"}, {"w"})},
          GetParam());
  net.mutable_op(1)->set_name("culprit");
  FeedScalar(&ws, "z", 0);
  NetBase* created = ws.CreateNet(net);
  ExpectContains(ErrorOf([&] { created->Run(); }),
                 {"planned failure", "failing", "operator 1", "TestBody", "culprit"});
  EXPECT_FALSE(ws.HasBlob("w") && ws.GetBlob("w")->IsType<Tensor>());
  fail = false;
  EXPECT_TRUE(created->Run());
  EXPECT_EQ(FetchScalar(ws, "w"), 1.f);
}

TEST_P(NetTypeTest, LackOfMemoryStaysLackOfMemory) {
  TestBodies()["huge"] = [](OperatorBase*) -> bool { throw std::bad_alloc(); };
  Workspace ws;
  NetBase* net = ws.CreateNet(Net("tight", {BodyOp("huge", {}, {"a"})}, GetParam()));
  try {
    net->Run();
    FAIL() << "the operator throws";
  } catch (const OutOfMemoryError& error) {
    ExpectContains(error.what(), {"out of memory", "TestBody", "tight"});
  }
}

TEST_P(NetTypeTest, AnOperatorThatReturnsFalseEndsTheRun) {
  TestBodies()["false"] = [](OperatorBase*) { return false; };
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  NetBase* net =
      ws.CreateNet(Net("n", {BodyOp("false", {"x"}, {"x"}), SumPlusOne({"x"}, {"y"})}, GetParam()));
  EXPECT_FALSE(net->Run());
  EXPECT_FALSE(ws.GetBlob("y")->IsType<Tensor>());
}

TEST_P(NetTypeTest, AStopRequestEndsARunningNet) {
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  TestBodies()["stop"] = [&](OperatorBase*) {
    ws.RequestStop();
    return true;
  };
  NetBase* net =
      ws.CreateNet(Net("n", {BodyOp("stop", {"x"}, {"x"}), SumPlusOne({"x"}, {"y"})}, GetParam()));
  ExpectContains(ErrorOf([&] { net->Run(); }), {"stopped on request"});
  EXPECT_FALSE(ws.GetBlob("y")->IsType<Tensor>());
  ws.ClearStop();
}

TEST_P(NetTypeTest, AnEmptyNetRuns) {
  Workspace ws;
  EXPECT_TRUE(ws.RunNetOnce(Net("empty", {}, GetParam())));
}

INSTANTIATE_TEST_SUITE_P(AllTypes, NetTypeTest,
                         ::testing::Values("simple", "dag", "async_scheduling"));

// What a nested net touches orders operators too, listed or not.
TEST(OperatorGraphTest, NestedNetsCount) {
  NetDef nested = Net("nested", {SumPlusOne({"a"}, {"b"})}, "");
  OperatorDef conditional =
      GradientMakerBase::CreateOperatorDef("If", "", {"c"}, {}, {MakeArgument("then_net", nested)});
  const NetDef net = Net("net", {SumPlusOne({}, {"a"}), conditional, SumPlusOne({"b"}, {"d"})}, "");
  const OperatorGraph graph = BuildOperatorGraph(net);
  EXPECT_EQ(graph.parents[1], std::vector<int>{0});
  EXPECT_EQ(graph.parents[2], std::vector<int>{1});
}

TEST(NetTest, IndependentOperatorsOfADagRunAtTheSameTime) {
  std::atomic<int> inside{0};
  TestBodies()["meet"] = [&](OperatorBase*) {
    ++inside;
    for (int i = 0; i < 5000 && inside.load() < 2; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return inside.load() >= 2;
  };
  Workspace ws;
  NetDef net = Net("parallel", {BodyOp("meet", {}, {"a"}), BodyOp("meet", {}, {"b"})}, "dag");
  net.set_num_workers(2);
  EXPECT_TRUE(ws.CreateNet(net)->Run());
}

TEST(NetTest, InOrderRunsIndependentOperatorsInDefinitionOrder) {
  std::vector<int> order;
  NetDef net = Net("ordered", {}, "dag");
  for (int i = 0; i < 50; ++i) {
    const std::string name = "note" + std::to_string(i);
    TestBodies()[name] = [&order, i](OperatorBase*) {
      order.push_back(i);
      return true;
    };
    *net.add_op() = BodyOp(name, {}, {"b" + std::to_string(i)});
  }
  *net.add_arg() = MakeArgument("in_order", 1);
  net.set_num_workers(4);
  Workspace ws;
  ASSERT_TRUE(ws.CreateNet(net)->Run());
  ASSERT_EQ(order.size(), 50u);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

// An operator whose arguments ask for more inputs or outputs than its definition gives it.
TEST(NetTest, AnInputOrOutputThatTheOperatorLacksIsNamed) {
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  const std::pair<std::function<void(OperatorBase*)>, std::string> cases[] = {
      {[](OperatorBase* op) { op->Input<Tensor>(1); }, "input 1 is needed"},
      {[](OperatorBase* op) { op->InputBlob(-1); }, "input -1 is needed"},
      {[](OperatorBase* op) { op->InputIsType<Tensor>(7); }, "input 7 is needed"},
      {[](OperatorBase* op) { op->Output<Tensor>(1); }, "output 1 is needed"},
      {[](OperatorBase* op) { op->OutputBlob(-1); }, "output -1 is needed"},
      {[](OperatorBase* op) { op->IsInputOutputAlias(0, 1); }, "output 1 is needed"},
      {[](OperatorBase* op) { static_cast<Operator<CPUContext>*>(op)->Output(1); },
       "output 1 is needed"},
      {[](OperatorBase* op) { static_cast<Operator<CPUContext>*>(op)->OutputCPU(2); },
       "output 2 is needed"}};
  for (const auto& [body, text] : cases) {
    TestBodies()["reach"] = [&body = body](OperatorBase* op) {
      body(op);
      return true;
    };
    NetBase* net = ws.CreateNet(Net("reach", {BodyOp("reach", {"x"}, {"y"})}), true);
    ExpectContains(ErrorOf([&] { net->Run(); }), {text, "and the operator has 1 ", "TestBody"});
  }
}

TEST(NetTest, MissingInputNamesTheBlob) {
  Workspace ws;
  ExpectContains(ErrorOf([&] { ws.CreateNet(Net("n", {SumPlusOne({"absent"}, {"y"})})); }),
                 {"net n", "operator 0", "TestSumPlusOne", "absent", "does not exist"});
  NetDef net = Net("n", {SumPlusOne({"data"}, {"y"})});
  net.add_external_input("unused");
  net.add_external_input("data");
  ws.CreateBlob("else");
  const std::string error = ErrorOf([&] { ws.CreateNet(net); });
  ExpectContains(error, {"net n: external input data does not exist"});
  EXPECT_EQ(error.find("did you mean"), std::string::npos) << error;
  ws.CreateBlob("date");
  ExpectContains(ErrorOf([&] { ws.CreateNet(net); }), {"does not exist; did you mean date?"});
  ws.CreateBlob("data");
  EXPECT_NE(ws.CreateNet(net), nullptr);  // what nothing reads need not exist
}

TEST(NetTest, ACycleIsNamedAsSuch) {
  Workspace ws;
  ExpectContains(ErrorOf([&] {
                   ws.CreateNet(Net("n", {SumPlusOne({"b"}, {"a"}), SumPlusOne({"a"}, {"b"})}));
                 }),
                 {"operator 0", "input b", "cycle"});
}

TEST(NetTest, UnknownOperatorSuggestsTheNearestName) {
  Workspace ws;
  OperatorDef op = SumPlusOne({}, {"y"});
  op.set_type("TestSumPlusOn");
  ExpectContains(ErrorOf([&] { ws.CreateNet(Net("n", {op})); }),
                 {"net n", "operator 0", "unknown operator TestSumPlusOn", "TestSumPlusOne?"});
}

TEST(NetTest, ATypeDoesNotNameAnEngine) {
  Workspace ws;
  OperatorDef op = SumPlusOne({}, {"y"});
  op.set_type("TestSumPlusOne_ENGINE_FAST");
  ExpectContains(ErrorOf([&] { ws.CreateNet(Net("n", {op})); }),
                 {"unknown operator TestSumPlusOne_ENGINE_FAST", "field engine"});
}

TEST(NetTest, UnknownNetTypeListsTheKnownOnes) {
  Workspace ws;
  ExpectContains(ErrorOf([&] { ws.CreateNet(Net("n", {}, "hovercraft")); }),
                 {"hovercraft", "simple", "dag"});
}

TEST(NetTest, AnOperatorOfAnotherDeviceSaysWhereItExists) {
  Workspace ws;
  OperatorDef op = SumPlusOne({}, {"y"});
  op.mutable_device_option()->set_device_type(FPGA);
  ExpectContains(ErrorOf([&] { ws.CreateNet(Net("n", {op})); }), {"fpga", "cpu"});
}

TEST(NetTest, UnknownEngineFallsBackToTheDefault) {
  Workspace ws;
  OperatorDef op = SumPlusOne({}, {"y"});
  op.set_engine("CUDNN,UNHEARD_OF");
  EXPECT_TRUE(ws.RunOperatorOnce(op));
  EXPECT_EQ(FetchScalar(ws, "y"), 1.f);
}

}  // namespace
}  // namespace caffe2
