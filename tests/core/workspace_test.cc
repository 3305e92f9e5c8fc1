#include "caffe2/core/workspace.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <mutex>
#include <set>
#include <thread>

#include "tests/core/test_operators.h"

namespace caffe2 {
namespace {

using testing::BodyOp;
using testing::FeedScalar;
using testing::FetchScalar;
using testing::Net;
using testing::TestBodies;

TEST(BlobTest, HoldsAnyTypeAndNamesBothOnMismatch) {
  Blob blob;
  EXPECT_FALSE(blob.meta());
  *blob.GetMutable<std::string>() = "text";
  EXPECT_EQ(blob.Get<std::string>(), "text");
  EXPECT_EQ(blob.TypeName(), "std::string");
  try {
    blob.Get<Tensor>();
    FAIL();
  } catch (const EnforceNotMet& error) {
    EXPECT_NE(std::string(error.what()).find("std::string"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("Tensor"), std::string::npos);
  }
  blob.GetMutable<Tensor>();
  EXPECT_TRUE(blob.IsType<Tensor>());
  blob.Reset(std::make_unique<std::unique_ptr<std::mutex>>(new std::mutex));
  EXPECT_EQ(blob.TypeName(), "std::unique_ptr<std::mutex>");
}

TEST(BlobTest, ASharedObjectOutlivesItsBlob) {
  std::shared_ptr<std::string> shared;
  {
    Blob blob;
    EXPECT_EQ(blob.GetShared<std::string>(), nullptr);
    *blob.GetMutable<std::string>() = "text";
    shared = blob.GetShared<std::string>();
    EXPECT_EQ(shared.get(), &blob.Get<std::string>());
    EXPECT_EQ(blob.GetShared<Tensor>(), nullptr);
  }
  EXPECT_EQ(*shared, "text");
}

TEST(WorkspaceTest, AddressesOfBlobsAreStable) {
  Workspace ws;
  Blob* first = ws.CreateBlob("first");
  for (int i = 0; i < 1000; ++i) ws.CreateBlob("b" + std::to_string(i));
  EXPECT_EQ(ws.GetBlob("first"), first);
  EXPECT_TRUE(ws.RemoveBlob("first"));
  EXPECT_FALSE(ws.RemoveBlob("first"));
  EXPECT_EQ(ws.GetBlob("first"), nullptr);
  EXPECT_THROW(ws.CreateBlob(""), EnforceNotMet);
}

TEST(WorkspaceTest, OperatorsKeepARemovedBlobForTheNextOneOfItsName) {
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  Blob* x = ws.GetBlob("x");
  TestBodies()["copy"] = [](OperatorBase* op) {
    op->Output<Tensor>(0)->CopyFrom(op->Input<Tensor>(0));
    return true;
  };
  NetBase* net = ws.CreateNet(Net("copies", {BodyOp("copy", {"x"}, {"y"})}));
  EXPECT_TRUE(ws.RemoveBlob("x"));
  EXPECT_FALSE(ws.RemoveBlob("x"));
  EXPECT_FALSE(ws.HasBlob("x"));
  EXPECT_EQ(ws.LocalBlobs(), std::vector<std::string>{"y"});
  EXPECT_THROW(net->Run(), EnforceNotMet);
  FeedScalar(&ws, "x", 2);
  EXPECT_EQ(ws.GetBlob("x"), x);
  EXPECT_TRUE(ws.RemoveBlob("y"));
  EXPECT_TRUE(net->Run());
  EXPECT_EQ(FetchScalar(ws, "y"), 2.f);
  EXPECT_EQ(ws.LocalBlobs(), (std::vector<std::string>{"x", "y"}));
}

TEST(WorkspaceTest, AChildKeepsASharedParent) {
  auto parent = std::make_shared<Workspace>();
  FeedScalar(parent.get(), "x", 3);
  const std::weak_ptr<Workspace> watch = parent;
  auto child = std::make_unique<Workspace>(parent.get());
  auto forwarded = std::make_unique<Workspace>(
      parent.get(), std::unordered_map<std::string, std::string>{{"inner", "x"}});
  parent.reset();
  EXPECT_EQ(FetchScalar(*child, "x"), 3.f);
  EXPECT_EQ(FetchScalar(*forwarded, "inner"), 3.f);
  child.reset();
  forwarded.reset();
  EXPECT_TRUE(watch.expired());
}

TEST(WorkspaceTest, OutputsInOneBlobDoNotShareMemory) {
  Workspace ws;
  TestBodies()["sizes"] = [](OperatorBase* op) {
    for (int i = 0; i < op->OutputSize(); ++i) op->Output<Tensor>(i)->Resize(i + 1);
    return op->Output<Tensor>(0)->numel() == 1;
  };
  EXPECT_TRUE(ws.RunOperatorOnce(BodyOp("sizes", {}, {"x", "y", "x"})));
  EXPECT_EQ(ws.GetBlob("x")->Get<Tensor>().numel(), 3);
  EXPECT_EQ(ws.GetBlob("y")->Get<Tensor>().numel(), 2);
  // What is written in place stays one object.
  EXPECT_FALSE(ws.RunOperatorOnce(BodyOp("sizes", {"x"}, {"x", "x"})));
}

TEST(WorkspaceTest, AClearedWorkspaceIsEmptyAndStillWorks) {
  Workspace ws;
  FeedScalar(&ws, "x", 1);
  ws.CreateNet(Net("n", {}));
  const std::shared_ptr<Blob> x = ws.GetBlob("x")->shared_from_this();
  ws.Clear();
  EXPECT_TRUE(ws.Blobs().empty());
  EXPECT_TRUE(ws.Nets().empty());
  EXPECT_FALSE(x->meta());
  FeedScalar(&ws, "x", 2);
  EXPECT_NE(ws.GetBlob("x"), x.get());
  ws.CreateNet(Net("n", {}));
}

TEST(WorkspaceTest, ThreadsCreateAndRemoveBlobsAndNets) {
  Workspace ws;
  FeedScalar(&ws, "shared", 1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&ws, t] {
      for (int i = 0; i < 500; ++i) {
        const std::string own = std::to_string(t) + "_" + std::to_string(i % 50);
        ws.CreateBlob(own);
        ws.RemoveBlob(std::to_string(t) + "_" + std::to_string((i + 25) % 50));
        EXPECT_NE(ws.GetBlob("shared"), nullptr);
        ws.CreateNet(Net(own, {}), true);
        EXPECT_NE(ws.GetNet(own), nullptr);
        ws.DeleteNet(own);
        ws.Blobs();
        ws.Nets();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(ws.Nets().empty());
  EXPECT_TRUE(ws.HasBlob("shared"));
}

TEST(WorkspaceTest, AChildSeesItsParentAndHidesWhatItCreates) {
  Workspace parent;
  FeedScalar(&parent, "x", 1);
  Workspace child(&parent);
  EXPECT_EQ(FetchScalar(child, "x"), 1.f);
  EXPECT_EQ(child.CreateBlob("x"), parent.GetBlob("x"));
  child.CreateLocalBlob("x");
  FeedScalar(&child, "x", 2);
  EXPECT_EQ(FetchScalar(child, "x"), 2.f);
  EXPECT_EQ(FetchScalar(parent, "x"), 1.f);
  child.CreateBlob("own");
  EXPECT_FALSE(parent.HasBlob("own"));
  EXPECT_EQ(child.LocalBlobs(), (std::vector<std::string>{"own", "x"}));
}

TEST(WorkspaceTest, ForwardedBlobsAppearUnderTheirNewNamesOnly) {
  Workspace parent;
  FeedScalar(&parent, "outer", 5);
  FeedScalar(&parent, "hidden", 6);
  Workspace child(&parent, {{"inner", "outer"}});
  EXPECT_EQ(FetchScalar(child, "inner"), 5.f);
  EXPECT_FALSE(child.HasBlob("outer"));
  EXPECT_FALSE(child.HasBlob("hidden"));
  EXPECT_THROW(Workspace(&parent, {{"inner", "absent"}}), EnforceNotMet);
}

TEST(WorkspaceTest, NetsAreNamedAndReplacedOnRequestOnly) {
  Workspace ws;
  ws.CreateNet(Net("n", {}));
  EXPECT_THROW(ws.CreateNet(Net("n", {})), EnforceNotMet);
  EXPECT_NO_THROW(ws.CreateNet(Net("n", {}), true));
  EXPECT_THROW(ws.CreateNet(Net("", {})), EnforceNotMet);
  EXPECT_TRUE(ws.RunNet("n"));
  EXPECT_THROW(ws.RunNet("other"), EnforceNotMet);
  ws.DeleteNet("n");
  EXPECT_TRUE(ws.Nets().empty());
}

class PlanTest : public ::testing::Test {
 protected:
  PlanTest() {
    TestBodies()["count"] = [this](OperatorBase*) {
      ++count_;
      return true;
    };
    TestBodies()["stop_at_3"] = [this](OperatorBase* op) {
      Tensor* stop = op->Output<Tensor>(0);
      stop->Resize();
      *stop->mutable_data<bool>() = ++count_ >= 3;
      return true;
    };
    *plan_.add_network() = Net("count", {BodyOp("count", {}, {"c"})});
  }

  ExecutionStep* AddStep(const std::string& net) {
    ExecutionStep* step = plan_.add_execution_step();
    step->set_name("step");
    if (!net.empty()) step->add_network(net);
    return step;
  }

  Workspace ws_;
  PlanDef plan_;
  std::atomic<int> count_{0};
};

TEST_F(PlanTest, IterationsMultiplyThroughSubsteps) {
  ExecutionStep* step = AddStep("");
  step->set_num_iter(3);
  for (int i = 0; i < 2; ++i) {
    ExecutionStep* substep = step->add_substep();
    substep->add_network("count");
    substep->set_num_iter(5);
  }
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 30);
  step->set_concurrent_substeps(true);
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 60);
}

TEST_F(PlanTest, NumIterOfZeroRunsNothingAndUnsetRunsOnce) {
  AddStep("count")->set_num_iter(0);
  AddStep("count");
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 1);
}

TEST_F(PlanTest, ShouldStopBlobEndsTheStep) {
  *plan_.add_network() = Net("stopper", {BodyOp("stop_at_3", {}, {"stop"})});
  AddStep("stopper")->set_should_stop_blob("stop");
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 3);
}

TEST_F(PlanTest, OnlyOnceAndInstances) {
  *plan_.add_network() = Net("stopper", {BodyOp("stop_at_3", {}, {"stop"})});
  ExecutionStep* step = AddStep("stopper");
  step->set_only_once(true);
  step->set_should_stop_blob("stop");
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 1);
}

TEST_F(PlanTest, InstancesRunInTheirOwnWorkspaces) {
  ExecutionStep* step = AddStep("");
  step->set_concurrent_substeps(true);
  ExecutionStep* substep = step->add_substep();
  substep->add_network("count");
  substep->set_num_concurrent_instances(4);
  substep->set_create_workspace(true);
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 4);
}

TEST_F(PlanTest, InstancesShareOnlyBlobsThatWereThereBefore) {
  std::mutex mutex;
  std::condition_variable all_here;
  std::multiset<const void*> shared, own;
  TestBodies()["note"] = [&](OperatorBase* op) {
    std::unique_lock<std::mutex> lock(mutex);
    shared.insert(op->Inputs()[0]);
    own.insert(op->Outputs()[0]);
    all_here.notify_all();
    // Together, so that no blob takes the place of one that is gone already.
    return all_here.wait_for(lock, std::chrono::minutes(1), [&] { return own.size() == 4; });
  };
  *plan_.add_network() = Net("note", {BodyOp("note", {"c"}, {"own"})});
  AddStep("count");  // makes c
  ExecutionStep* step = AddStep("");
  step->set_concurrent_substeps(true);
  ExecutionStep* instance = step->add_substep();
  instance->set_num_concurrent_instances(4);
  instance->set_create_workspace(true);
  ExecutionStep* nested = instance->add_substep();  // one more workspace within each
  nested->set_create_workspace(true);
  nested->add_network("note");
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(shared.count(ws_.GetBlob("c")), 4);
  EXPECT_EQ(std::set<const void*>(own.begin(), own.end()).size(), 4);
  EXPECT_FALSE(ws_.HasBlob("own"));
}

TEST_F(PlanTest, NetsAreCreatedInTheOrderOfTheSteps) {
  plan_.clear_network();
  *plan_.add_network() = Net("second", {BodyOp("count", {"c"}, {"d"})});
  *plan_.add_network() = Net("count", {BodyOp("count", {}, {"c"})});
  AddStep("count");
  AddStep("second");
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 2);
}

TEST_F(PlanTest, ReportNetRunsAtTheEndAtLeast) {
  *plan_.add_network() = Net("report", {BodyOp("count", {}, {"r"})});
  *plan_.add_network() = Net("empty", {});
  ExecutionStep* step = AddStep("empty");
  step->set_report_net("report");
  EXPECT_THROW(ws_.RunPlan(plan_), EnforceNotMet);  // no interval
  step->set_report_interval(3600);
  EXPECT_TRUE(ws_.RunPlan(plan_));
  EXPECT_EQ(count_, 1);
}

TEST_F(PlanTest, AnErrorInAConcurrentSubstepEndsThePlan) {
  TestBodies()["throw"] = [](OperatorBase*) -> bool { CAFFE_THROW("planned failure"); };
  *plan_.add_network() = Net("thrower", {BodyOp("throw", {}, {"t"})});
  *plan_.add_network() = Net("stopper", {BodyOp("count", {}, {"c2"})});
  ExecutionStep* step = AddStep("");
  step->set_concurrent_substeps(true);
  step->add_substep()->add_network("thrower");
  ExecutionStep* endless = step->add_substep();
  endless->add_network("stopper");
  endless->set_num_iter(int64_t{1} << 60);
  EXPECT_THROW(ws_.RunPlan(plan_), EnforceNotMet);
}

TEST_F(PlanTest, AFailedSubstepStopsOthersThatWait) {
  TestBodies()["fail"] = [](OperatorBase*) { return false; };
  TestBodies()["wait"] = [&](OperatorBase*) {
    while (!ws_.StopRequested()) std::this_thread::yield();
    return false;
  };
  *plan_.add_network() = Net("failer", {BodyOp("fail", {}, {"f"})});
  *plan_.add_network() = Net("waiter", {BodyOp("wait", {}, {"w"})});
  ExecutionStep* step = AddStep("");
  step->set_concurrent_substeps(true);
  step->add_substep()->add_network("waiter");
  step->add_substep()->add_network("failer");
  EXPECT_FALSE(ws_.RunPlan(plan_));
  EXPECT_FALSE(ws_.StopRequested());
}

TEST_F(PlanTest, MistakesAreNamed) {
  AddStep("absent");
  EXPECT_THROW(ws_.RunPlan(plan_), EnforceNotMet);
  plan_.clear_execution_step();
  ExecutionStep* both = AddStep("count");
  both->set_num_iter(1);
  both->set_should_stop_blob("stop");
  EXPECT_THROW(ws_.RunPlan(plan_), EnforceNotMet);
}

TEST_F(PlanTest, ShouldContinueEndsThePlan) {
  AddStep("count")->set_num_iter(10);
  EXPECT_FALSE(ws_.RunPlan(plan_, [](int64_t i) { return i < 4; }));
  EXPECT_EQ(count_, 4);
}

TEST(WorkspaceStopTest, AStopReachesChildrenAndNoParent) {
  Workspace ws;
  ws.CreateBlob("x");
  Workspace child(&ws), grandchild(&child, {{"y", "x"}});
  child.RequestStop();
  EXPECT_FALSE(ws.StopRequested());
  EXPECT_TRUE(grandchild.StopRequested());
  child.ClearStop();
  ws.RequestStop();
  EXPECT_TRUE(child.StopRequested());
  EXPECT_TRUE(grandchild.StopRequested());
}

TEST(WorkspaceStopTest, ADeadlineStopsChildrenUntilItIsRemoved) {
  using Clock = std::chrono::steady_clock;
  Workspace ws;
  const Workspace child(&ws);
  ws.SetDeadline(Clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(child.StopRequested());
  ws.SetDeadline(Clock::now());
  EXPECT_TRUE(ws.StopRequested());
  EXPECT_TRUE(child.StopRequested());
  ws.SetDeadline(std::nullopt);
  EXPECT_FALSE(child.StopRequested());
}

TEST(RandomGeneratorTest, KnownAnswersOfPhilox) {
  // From the reference implementation's known-answer file, philox4x32-10, zero counter and key.
  RandomGenerator random(0);
  EXPECT_EQ(random(), 0x6627e8d5u);
  EXPECT_EQ(random(), 0xe169c58du);
  EXPECT_EQ(random(), 0xbc57ac4cu);
  EXPECT_EQ(random(), 0x9b00dbd8u);
}

TEST(RandomGeneratorTest, APositionIsReproducible) {
  RandomGenerator random(123);
  std::vector<uint32_t> words;
  for (int i = 0; i < 100; ++i) words.push_back(random());
  for (int position : {0, 1, 5, 63, 98}) {
    RandomGenerator other(123, position);
    EXPECT_EQ(other(), words[position]);
    random.set_position(position);
    EXPECT_EQ(random(), words[position]);
  }
}

TEST(RandomGeneratorTest, MomentsOfTheDistributions) {
  RandomGenerator random(1);
  const int n = 200000;
  double sum = 0, squares = 0, normal_sum = 0, normal_squares = 0;
  std::vector<int> buckets(7);
  for (int i = 0; i < n; ++i) {
    const float u = random.Uniform();
    ASSERT_GE(u, 0.f);
    ASSERT_LT(u, 1.f);
    sum += u;
    squares += u * u;
    const float z = random.Normal();
    normal_sum += z;
    normal_squares += z * z;
    ++buckets[random.UniformInt(7)];
  }
  EXPECT_NEAR(sum / n, 0.5, 0.005);
  EXPECT_NEAR(squares / n, 1 / 3., 0.005);
  EXPECT_NEAR(normal_sum / n, 0, 0.01);
  EXPECT_NEAR(normal_squares / n, 1, 0.02);
  for (int count : buckets) EXPECT_NEAR(count, n / 7., 5 * std::sqrt(n / 7.));
}

}  // namespace
}  // namespace caffe2
