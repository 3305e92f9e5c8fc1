#include "distributed/launcher/watched_host_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <string_view>
#include <thread>

#include "tests/distributed/test_util.h"

namespace caffe2 {
namespace {

using Hosts = std::vector<HostSlots>;

using testing::TemporaryDirectory;

class WatchedHostFileTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { std::ofstream(path_) << text; }

  TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/hosts";
};

TEST_F(WatchedHostFileTest, ReportsEachChangeOnce) {
  Write("a slots=2\n");
  WatchedHostFile file(path_, {{"a", 2}}, false);
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2  # a comment is no change\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2\nb:3\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"a", 2}, {"b", 3}}));
  EXPECT_FALSE(file.ReadIfChanged());
  Write("b:3\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"b", 3}}));
}

TEST_F(WatchedHostFileTest, AWrongOrMissingFileChangesNothing) {
  WatchedHostFile file(path_, {{"a", 2}}, false);
  EXPECT_FALSE(file.ReadIfChanged());  // missing
  Write("a slots=many\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=2\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("a slots=1\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"a", 1}}));
}

TEST_F(WatchedHostFileTest, ALocalRunTakesNoOtherHost) {
  WatchedHostFile file(path_, {{"localhost", 2}}, true);
  Write("localhost slots=2\nelsewhere slots=2\n");
  EXPECT_FALSE(file.ReadIfChanged());
  Write("localhost slots=4\n");
  EXPECT_EQ(file.ReadIfChanged(), (Hosts{{"localhost", 4}}));
}

// A pipe without a writer takes the place of a disk that hangs.
TEST_F(WatchedHostFileTest, AFileThatCannotBeReadForAWhileHoldsUpNobody) {
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  WatchedHostFile file(path_, {{"a", 2}}, false);
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(file.ReadIfChanged());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) {
      const int fd = open(path_.c_str(), O_WRONLY | O_NONBLOCK);  // fails if nobody reads
      if (fd >= 0) {
        constexpr std::string_view kText = "a slots=1\n";
        EXPECT_EQ(write(fd, kText.data(), kText.size()), static_cast<ssize_t>(kText.size()));
        close(fd);
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  std::optional<Hosts> hosts;
  for (const Deadline deadline(std::chrono::seconds(60)); !hosts && !deadline.expired();) {
    hosts = file.ReadIfChanged();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  done = true;
  writer.join();
  EXPECT_EQ(hosts, (Hosts{{"a", 1}}));
}

}  // namespace
}  // namespace caffe2
