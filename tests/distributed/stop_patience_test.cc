#include "distributed/stop_patience.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "distributed/host.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// Two shards: this process and another one on another host.
std::vector<MemberRecord> Members() {
  std::vector<MemberRecord> members(2);
  members[0].process = ProcessId::Self();
  members[1].process = {"far", "its boot", 17, 5};
  return members;
}

std::string Heartbeat(int beat, int collective) {
  return FormatRecord({{"beat", std::to_string(beat)},
                       {"collective", std::to_string(collective)},
                       {"operation", "Allreduce a"}});
}

TEST(StopPatienceTest, NamesAStoppedProcessOfThisHost) {
  int channel[2];
  ASSERT_EQ(pipe(channel), 0);
  const pid_t child = fork();
  if (child == 0) {
    const std::string self = MemberRecord{ProcessId::Self()}.Format();
    (void)!write(channel[1], self.data(), self.size());
    while (true) pause();
  }
  char self[4096];
  const ssize_t bytes = read(channel[0], self, sizeof self);
  ASSERT_GT(bytes, 0);
  std::vector<MemberRecord> members = Members();
  members[1] = *MemberRecord::Parse(std::string(self, static_cast<size_t>(bytes)));
  const StopPatience patience(members, 0);
  EXPECT_EQ(patience.LookAtProcesses(), "");
  kill(child, SIGSTOP);
  int status = 0;
  waitpid(child, &status, WUNTRACED);
  EXPECT_HAS(patience.LookAtProcesses(),
             MakeString("shard 1 (host ", members[1].process.host, ", pid ", child,
                        "), whose process is stopped"));
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  EXPECT_EQ(patience.LookAtProcesses(), "");
}

TEST(StopPatienceTest, WaitsForShardsThatBeat) {
  StopPatience patience(Members(), 0);
  for (int beat = 0; beat < 20; ++beat) {
    EXPECT_EQ(patience.LookAtHeartbeats({"", Heartbeat(beat, 7)}, {8, "Allreduce a"}), "");
    std::this_thread::sleep_for(StopPatience::kSilence / 10);
  }
}

TEST(StopPatienceTest, NamesASilentShard) {
  StopPatience patience(Members(), 0);
  EXPECT_EQ(patience.LookAtHeartbeats({"", Heartbeat(1, 8)}, {8, "Allreduce a"}), "");
  std::this_thread::sleep_for(StopPatience::kSilence + milliseconds(100));
  // A store that did not answer for so long may have held the heartbeat back.
  EXPECT_EQ(patience.LookAtHeartbeats({"", Heartbeat(1, 8)}, {8, "Allreduce a"}), "");
  EXPECT_EQ(patience.LookAtHeartbeats({"", Heartbeat(1, 8)}, {8, "Allreduce a"}), "");
  EXPECT_HAS(patience.LookAtHeartbeats({"", Heartbeat(1, 8)}, {8, "Allreduce a"}),
             "shard 1 (host far, pid 17), without a sign of life for");
}

TEST(StopPatienceTest, DoesNotWaitLongForOneOperation) {
  StopPatience patience(Members(), 0);
  std::string why;
  const Deadline deadline(StopPatience::kOneOperation * 2);
  for (int beat = 0; why.empty() && !deadline.expired(); ++beat) {
    why = patience.LookAtHeartbeats({"", Heartbeat(beat, 7)}, {8, "Allreduce a"});
    std::this_thread::sleep_for(milliseconds(50));
  }
  EXPECT_HAS(why, "shard 1 (host far, pid 17): it does not take part in collective 8");
}

}  // namespace
}  // namespace caffe2::testing
