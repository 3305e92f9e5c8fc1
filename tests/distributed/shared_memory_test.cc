#include "distributed/shared_memory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <functional>
#include <sstream>

#include "distributed/file_store_handler.h"
#include "distributed/gloo_communicator.h"
#include "distributed/host.h"
#include "distributed/shared_memory_communicator.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// A change of the calling process that the others see in its identity. Throws if the process may
// not make it.
using Change = std::function<void()>;

void CheckCall(int status, const char* what) {
  if (status != 0) throw IoError(MakeString(what, ": ", std::strerror(errno)));
}

void RenameHost() {
  CheckCall(unshare(CLONE_NEWUTS), "a host name of its own");
  CheckCall(sethostname("elsewhere", 9), "a host name");
}

// Makes the kernel's boot id read as `text`, as on another machine.
void SetBootId(const std::string& text) {
  CheckCall(unshare(CLONE_NEWNS), "mounts of its own");
  CheckCall(mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr), "private mounts");
  TemporaryDirectory directory;
  const std::string file = MakeString(directory.path(), "/boot_id");
  std::ofstream(file) << text << "\n";
  CheckCall(mount(file.c_str(), "/proc/sys/kernel/random/boot_id", nullptr, MS_BIND, nullptr),
            "a boot id of its own");
}

void BootElsewhere() { SetBootId("00000000-1111-2222-3333-444444444444"); }

void EnterUserNamespace() {
  const uid_t user = geteuid();
  CheckCall(unshare(CLONE_NEWUSER), "a namespace of users");
  std::ofstream map("/proc/self/uid_map");
  map << user << " " << user << " 1" << std::flush;
  CheckCall(map ? 0 : -1, "the user in a namespace");
}

void EnterNetworkNamespace() { CheckCall(unshare(CLONE_NEWNET), "a namespace of networks"); }

void BecomeAnotherUser() { CheckCall(seteuid(geteuid() + 1), "another user"); }

// Why this test process may not make the change; empty if it may.
std::string Forbids(const Change& change) {
  const auto results = RunShards(1, [&](int) {
    change();
    return std::string();
  });
  return results[0].status == 0 ? "" : results[0].message;
}

#define REQUIRE_RIGHT(change)                                  \
  if (const std::string why = Forbids(change); !why.empty()) { \
    GTEST_SKIP() << "this process may not have " << why;       \
  }

CommunicatorOptions LoopbackOptions(int rank, const std::string& transport) {
  CommunicatorOptions options;
  options.rank = rank;
  options.size = 2;
  options.transport = transport;
  options.interface = "127.0.0.1";
  options.timeout = milliseconds(20000);
  return options;
}

struct Changed {
  bool early = false;  // before the shards connect, not after it
  bool all = false;    // both shards, not rank 1 alone
};

// Two shards connect, change as told, and try to share memory. Returns what both found: how rank 0
// describes rank 1, or where the shards are and why they do not share.
std::vector<std::string> AttachAfter(const Change& change, const Changed& changed = {}) {
  TemporaryDirectory directory;
  const auto results = RunShards(2, [&](int rank) {
    const bool changes = rank == 1 || changed.all;
    if (changes && changed.early) change();
    auto store = NewFileStore(directory.path(), "run");
    const auto control = ConnectGloo(store.get(), LoopbackOptions(rank, "tcp"));
    if (changes && !changed.early) change();
    const auto attached =
        SharedMemory::Attach(control.get(), "memory", 4096, milliseconds(10000), "");
    if (attached.memory != nullptr) return attached.memory->Describe(1);
    return MakeString(attached.one_machine ? "one machine: " : "machines: ", attached.obstacle);
  });
  std::vector<std::string> found;
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.status, 0) << result.message;
    found.push_back(result.message);
  }
  return found;
}

TEST(SharedMemoryIdentityTest, TheHostNameDecidesNothing) {
  REQUIRE_RIGHT(RenameHost);
  for (const std::string& found : AttachAfter(RenameHost)) {
    EXPECT_EQ(found.rfind("rank 1 (host elsewhere, pid ", 0), 0u) << found;
    EXPECT_HAS(found, ", shared memory)");
  }
}

TEST(SharedMemoryIdentityTest, AnotherBootIdIsAnotherMachine) {
  REQUIRE_RIGHT(BootElsewhere);
  for (const std::string& found : AttachAfter(BootElsewhere)) {
    EXPECT_EQ(found, "machines: rank 1 is on another machine than rank 0");
  }
}

TEST(SharedMemoryIdentityTest, MachinesWithoutBootIdsAreNotTakenForOne) {
  const Change forget = [] { SetBootId(""); };
  REQUIRE_RIGHT(forget);
  for (const std::string& found : AttachAfter(forget, {.all = true})) {
    EXPECT_EQ(found, "machines: rank 0 cannot read the boot id of its machine");
  }
}

TEST(SharedMemoryIdentityTest, AnotherNetworkNamespaceIsAnotherContainer) {
  REQUIRE_RIGHT(EnterNetworkNamespace);
  for (const std::string& found : AttachAfter(EnterNetworkNamespace)) {
    EXPECT_EQ(found, "one machine: rank 1 is in another container than rank 0");
  }
}

// A process with threads cannot enter a namespace of users, so the shard enters before it connects.
TEST(SharedMemoryIdentityTest, AnotherUserNamespaceIsAnotherContainer) {
  REQUIRE_RIGHT(EnterUserNamespace);
  for (const std::string& found : AttachAfter(EnterUserNamespace, {.early = true})) {
    EXPECT_EQ(found, "one machine: rank 1 is in another container than rank 0");
  }
}

TEST(SharedMemoryIdentityTest, AnotherUserIsNotTrusted) {
  REQUIRE_RIGHT(BecomeAnotherUser);
  for (const std::string& found : AttachAfter(BecomeAnotherUser)) {
    EXPECT_EQ(found, "one machine: rank 1 belongs to another user than rank 0");
  }
}

// Two shards of different machines add 1 and 2. Each returns the sum and its log, or its error.
std::vector<ShardResult> ConnectMachines(const std::string& transport) {
  TemporaryDirectory directory;
  return RunShards(2, [&](int rank) {
    const std::string log = MakeString(directory.path(), "/log", rank);
    dup2(open(log.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    if (rank == 1) BootElsewhere();
    auto store = NewFileStore(directory.path(), "run");
    CommunicatorOptions options = LoopbackOptions(rank, transport);
    options.interface = RoutedAddress();  // a loopback address reaches no other machine
    const auto world = ConnectShards(store.get(), options);
    float x = static_cast<float>(rank + 1);
    world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
    std::ostringstream text;
    text << x << " " << std::ifstream(log).rdbuf();
    return text.str();
  });
}

TEST(SharedMemoryIdentityTest, MachinesTakeTcpWithoutAWarning) {
  REQUIRE_RIGHT(BootElsewhere);
  if (IsLoopback(RoutedAddress())) GTEST_SKIP() << "this host has no network";
  for (const ShardResult& result : ConnectMachines("auto")) EXPECT_EQ(result.message, "3 ");
  for (const ShardResult& result : ConnectMachines("shared_memory")) {
    EXPECT_EQ(result.status, 1);
    EXPECT_HAS(result.message,
               "cannot use shared memory: rank 1 is on another machine than rank 0");
  }
}

}  // namespace
}  // namespace caffe2::testing
