#include "distributed/run_record.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include "distributed/memory_store_handler.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

TEST(RunRecordTest, RoundTripAndHostileTexts) {
  const RunRecord record = {{"a", ""}, {"b c", "x=y %\n\x01 \xff"}, {"d", "1"}};
  const std::string text = FormatRecord(record);
  for (const char c : text) EXPECT_TRUE(c >= ' ' && c < 127);
  EXPECT_EQ(ParseRecord(text), record);
  for (const std::string& bad :
       {std::string(), std::string("a"), std::string("a=1 a=2"), std::string("a=%"),
        std::string("a=%G1"), std::string("a=1\nb=2"), std::string("a=1=2"), std::string("\0\0", 2),
        std::string(100000, 'a') + "=1"}) {
    EXPECT_EQ(ParseRecord(bad), std::nullopt) << bad.substr(0, 20);
  }
  EXPECT_FALSE(MemberRecord::Parse("a=1"));
  EXPECT_EQ(RunFailure::Parse("garbage").kind, RunFailure::kStale);
  EXPECT_EQ(OneLine(std::string("a\x1b[0m\n") + std::string(5000, 'b')).size(), 1000u);
}

TEST(RunRecordTest, ProcessesAreToldApart) {
  ProcessId self = ProcessId::Self();
  EXPECT_TRUE(self.on_this_host());
  EXPECT_TRUE(self.IsAlive());
  self.start_time += 1;  // a later process with the same pid
  EXPECT_FALSE(self.IsAlive());
  self.host = "another";  // renamed, or a name that containers share: says nothing
  EXPECT_TRUE(self.on_this_host());
  ProcessId in_container = self;
  in_container.pid_namespace = "pid:[1]";
  EXPECT_FALSE(in_container.on_this_host());
  EXPECT_TRUE(in_container.shares_machine());
  self.boot_id = "another";
  EXPECT_FALSE(self.on_this_host());
  EXPECT_FALSE(self.shares_machine());
  EXPECT_NEAR(static_cast<double>(ProcessStartMs()), static_cast<double>(NowMs()), 600e3);
}

TEST(RunRecordTest, WithoutFileDescriptorsNoProcessLooksDead) {
  const ProcessId self = ProcessId::Self();
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  const rlimit none{0, limit.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const bool alive = self.IsAlive();
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_TRUE(alive);
}

TEST(RunRecordTest, APlaceOfADeadProcessHidesNoRefusal) {
  const StoreFactory stores = MemoryStores();
  const auto store = stores("run");
  MemberRecord holder;
  const auto refusal = [&] {
    store->Put("1/member/0", holder.Format());
    RecordRefusal(stores, "run", 0, "too few files");
    return FindFailure(store.get(), 1);
  };
  holder.process = ProcessId::Self();
  EXPECT_FALSE(refusal());
  holder.process.boot_id = "another";  // on another host: perhaps alive
  EXPECT_FALSE(refusal());
  holder.process = ProcessId::Self();
  holder.process.start_time += 1;  // an earlier process with the same pid
  const auto failure = refusal();
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->kind, RunFailure::kRefused);
  EXPECT_TRUE(failure->IsOwnRefusal(0));
  EXPECT_FALSE(failure->IsOwnRefusal(1));
  const auto other = RunShards(1, [&](int) { return MakeString(failure->IsOwnRefusal(0)); });
  EXPECT_EQ(other[0].message, "0");
}

TEST(RunRecordTest, ARunGoesOnWithoutExpendableShardsUntilItFails) {
  const auto store = MemoryStores()("run");
  EXPECT_FALSE(GoesOnWithout(store.get(), 0));  // there is no run
  store->Put("generation", FormatGeneration(3, "ab"));
  store->Put("2/ready", "9");
  EXPECT_FALSE(GoesOnWithout(store.get(), 0));  // not all shards have joined
  store->Put("3/ready", "2");
  EXPECT_TRUE(GoesOnWithout(store.get(), 0));
  EXPECT_TRUE(GoesOnWithout(store.get(), 1));
  EXPECT_FALSE(GoesOnWithout(store.get(), 2));
  RecordFailure(store.get(), 3, RunFailure::kLost, "peer lost");
  EXPECT_FALSE(GoesOnWithout(store.get(), 0));
  for (const char* text : {"0", "", "abc", "-1", "% 7"}) {
    store->Put("generation", FormatGeneration(4, "ab"));
    store->Put("4/ready", text);
    EXPECT_FALSE(GoesOnWithout(store.get(), 0)) << text;
  }
}

TEST(RunRecordTest, GenerationsAreBounded) {
  EXPECT_EQ(ParseGeneration("7"), 7);
  for (const char* text : {"", "x", "0", "-5"}) EXPECT_EQ(ParseGeneration(text), 1) << text;
  EXPECT_EQ(ParseGeneration("99999999999999999999"), 1'000'000'000);
  EXPECT_EQ(ParseGeneration("7 0af"), 7);
  EXPECT_EQ(ParseGeneration(FormatGeneration(3, "0af")), 3);
  EXPECT_EQ(ParseRunToken(FormatGeneration(3, "0af")), "0af");
  EXPECT_EQ(FormatGeneration(3, ""), "3");
  for (const std::string& text : {std::string(), std::string("7"), std::string("7 x"),
                                  std::string("7 0af 1"), "7 " + std::string(65, 'a')}) {
    EXPECT_EQ(ParseRunToken(text), "") << text;
  }
}

}  // namespace
}  // namespace caffe2::testing
