#include "caffe2/core/net_observer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <mutex>
#include <thread>

#include "tests/core/test_operators.h"

namespace caffe2 {
namespace {

using testing::BodyOp;
using testing::Net;
using testing::TestBodies;

class Recorder final : public NetObserver {
 public:
  explicit Recorder(std::vector<std::string>* events) : events_(events) {}
  void NetStarts() override { Note("net"); }
  void NetStops() override { Note("end"); }
  void OperatorStarts(size_t i) override { Note("op" + std::to_string(i)); }
  void OperatorStops(size_t i) override { Note("end" + std::to_string(i)); }

 private:
  void Note(const std::string& event) {
    std::lock_guard<std::mutex> lock(mutex_);
    events_->push_back(event);
  }
  std::mutex mutex_;
  std::vector<std::string>* events_;
};

class NetObserverTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    TestBodies()["sleep"] = [](OperatorBase*) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return true;
    };
    TestBodies()["throw"] = [](OperatorBase*) -> bool { CAFFE_THROW("planned failure"); };
  }
  NetBase* Create(const std::string& second) {
    return ws_.CreateNet(
        Net("watched", {BodyOp("sleep", {}, {"a"}), BodyOp(second, {"a"}, {"b"})}, GetParam()),
        /*overwrite=*/true);
  }
  Workspace ws_;
};

TEST_P(NetObserverTest, ToldOfNetAndOperatorsInOrder) {
  std::vector<std::string> events;
  NetBase* net = Create("sleep");
  NetObserver* observer = net->AttachObserver(std::make_unique<Recorder>(&events));
  EXPECT_EQ(net->NumObservers(), 1);
  ASSERT_TRUE(net->Run());
  EXPECT_EQ(events, (std::vector<std::string>{"net", "op0", "end0", "op1", "end1", "end"}));
  EXPECT_EQ(net->DetachObserver(nullptr), nullptr);
  EXPECT_EQ(net->DetachObserver(observer).get(), observer);
  EXPECT_EQ(net->NumObservers(), 0);
  events.clear();
  ASSERT_TRUE(net->Run());
  EXPECT_TRUE(events.empty());
}

TEST_P(NetObserverTest, AFailedRunEndsToo) {
  std::vector<std::string> events;
  NetBase* net = Create("throw");
  net->AttachObserver(std::make_unique<Recorder>(&events));
  EXPECT_THROW(net->Run(), EnforceNotMet);
  EXPECT_EQ(events, (std::vector<std::string>{"net", "op0", "end0", "op1", "end"}));
}

TEST_P(NetObserverTest, TimesAndCountsAreThoseOfTheRuns) {
  NetBase* net = Create("sleep");
  NetObserver* time = net->AttachObserver(CreateNetObserver("TimeObserver", net));
  NetObserver* profile = net->AttachObserver(CreateNetObserver("ProfileObserver", net));
  NetObserver* count = net->AttachObserver(CreateNetObserver("RunCountObserver", net));
  EXPECT_EQ(time->AverageTime(), 0.f);
  for (int run = 0; run < 3; ++run) ASSERT_TRUE(net->Run());
  // Sleeps take no less than asked for.
  EXPECT_GE(time->AverageTime(), 4.f);
  EXPECT_GE(time->AverageTimeChildren(), 2.f);
  EXPECT_LE(2 * time->AverageTimeChildren(), time->AverageTime());
  EXPECT_NE(profile->DebugInfo().find("operator 1 TestBody"), std::string::npos);
  EXPECT_EQ(count->DebugInfo(), "This operator runs 6 times.");
  const std::shared_ptr<NetObserver> kept = net->DetachObserver(profile);
  ws_.DeleteNet(net->Name());
  EXPECT_NE(kept->DebugInfo().find("operator 1 TestBody"), std::string::npos);
  EXPECT_THROW(CreateNetObserver("NoObserver", Create("sleep")), EnforceNotMet);
}

INSTANTIATE_TEST_SUITE_P(Executors, NetObserverTest, ::testing::Values("simple", "dag"));

}  // namespace
}  // namespace caffe2
