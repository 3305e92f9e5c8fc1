#include "distributed/core_share.h"

#include <gtest/gtest.h>

#include <vector>

namespace caffe2::testing {
namespace {

MemberRecord Member(const std::string& boot_id, const std::string& cores,
                    const std::string& pid_namespace = "a") {
  MemberRecord member;
  member.process.boot_id = boot_id;
  member.process.pid_namespace = pid_namespace;
  member.cores = ParseCores(cores);
  return member;
}

TEST(CoreShareTest, ShardsOfAMachineDivideItsCores) {
  const std::vector<MemberRecord> members = {Member("m1", "0-7"), Member("m1", "0-7"),
                                             Member("m1", "0-7"), Member("m2", "0-3")};
  for (int shard : {0, 1, 2}) EXPECT_EQ(CoreShare(members, shard, std::nullopt), 2);
  EXPECT_EQ(CoreShare(members, 3, std::nullopt), 4);
}

TEST(CoreShareTest, ShardsThatAreBoundToCoresKeepThem) {
  const std::vector<MemberRecord> members = {Member("m", "0-3"), Member("m", "4-7"),
                                             Member("m", "6-9")};
  EXPECT_EQ(CoreShare(members, 0, std::nullopt), 4);
  EXPECT_EQ(CoreShare(members, 1, std::nullopt), 2);
  EXPECT_EQ(CoreShare(members, 2, std::nullopt), 2);
}

TEST(CoreShareTest, AQuotaIsDividedInItsContainerOnly) {
  const std::vector<MemberRecord> members = {
      Member("m", "0-31", "pod1"), Member("m", "0-31", "pod1"), Member("m", "0-31", "pod2")};
  EXPECT_EQ(CoreShare(members, 0, 4.0), 2);
  EXPECT_EQ(CoreShare(members, 2, 4.0), 4);
  EXPECT_EQ(CoreShare(members, 2, 64.0), 10);
}

TEST(CoreShareTest, EveryShardHasAtLeastOneCore) {
  const std::vector<MemberRecord> members = {Member("m", "0"), Member("m", "0"), Member("m", "")};
  for (int shard : {0, 1, 2}) EXPECT_EQ(CoreShare(members, shard, 0.5), 1);
}

TEST(CoreShareTest, RecordsCarryTheCores) {
  MemberRecord member = Member("boot", "0-3,8", "pid:[4026531836]");
  member.process.host = "a";
  member.process.pid = 7;
  const auto read = MemberRecord::Parse(member.Format());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->cores, member.cores);
  EXPECT_EQ(read->process.pid_namespace, "pid:[4026531836]");
}

}  // namespace
}  // namespace caffe2::testing
