#include "caffe2/utils/watchdog.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

#include "caffe2/utils/write_count.h"

namespace caffe2::testing {
namespace {

// Runs body in a process of its own. Returns its wait status and what it wrote to stderr.
template <typename Body>
std::pair<int, std::string> InProcess(const Body& body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    body();
    _exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(n));
  }
  close(ends[0]);
  int status = 0;
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return {status, text};
}

TEST(WatchdogTest, EndsAProcessThatHangsAndShowsItsThreads) {
  const auto [status, text] = InProcess([] {
    EndProcessAfter(0.2, "peer lost: shard=1", 75);
    EndProcessAfter(0.1, "a second call", 1);
    int ends[2];
    char byte;
    if (pipe(ends) == 0) {
      [[maybe_unused]] const ssize_t n = read(ends[0], &byte, 1);  // for ever
    }
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 75);
  EXPECT_EQ(text.rfind("peer lost: shard=1\nThe process did not end", 0), 0u) << text;
  EXPECT_NE(text.find("state S"), std::string::npos) << text;
  EXPECT_EQ(text.find("a second call"), std::string::npos) << text;
}

TEST(WatchdogTest, EndsAProcessAtOnceWithoutItsThreads) {
  const auto [status, text] = InProcess([] {
    EndProcessAfter(0, "stopped by signal 15", 143);
    std::this_thread::sleep_for(std::chrono::seconds(60));
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_EQ(text, "stopped by signal 15\n");
}

TEST(WatchdogTest, AFullStderrHoldsUpNoEnd) {
  const auto [status, text] = InProcess([] {
    int ends[2];
    if (pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) _exit(1);
    fcntl(STDERR_FILENO, F_SETFL, O_NONBLOCK);
    while (write(STDERR_FILENO, "text", 4) > 0) {
    }
    fcntl(STDERR_FILENO, F_SETFL, 0);
    EndProcessAfter(0, "stopped by signal 15", 143);
    std::this_thread::sleep_for(std::chrono::seconds(30));
  });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 143);
}

TEST(WatchdogTest, AProcessThatSavesMayFinishButNotHang) {
  for (const bool ends : {true, false}) {
    const auto [status, text] = InProcess([ends] {
      EndProcessAfter(2, "peer lost", 75);
      for (int i = 0; i < 60; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        CountWrite();
      }
      if (!ends) std::this_thread::sleep_for(std::chrono::seconds(60));
    });
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), ends ? 0 : 75) << text;
  }
}

TEST(WatchdogTest, LeavesAProcessThatEnds) {
  const auto [status, text] = InProcess([] { EndProcessAfter(30, "peer lost", 75); });
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace caffe2::testing
