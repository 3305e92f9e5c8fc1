#include "caffe2/utils/watchdog.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <memory>
#include <sstream>
#include <system_error>
#include <thread>
#include <utility>

#include "caffe2/utils/write_count.h"

namespace caffe2 {

namespace {

std::string FirstLine(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

// The state letter in a "stat" file. It follows the name, which stands in parentheses and may
// contain blanks.
char StateIn(const std::string& stat) {
  const size_t name_end = stat.rfind(')');
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '?' : stat[name_end + 2];
}

}  // namespace

std::string DescribeThreads() {
  std::ostringstream text;
  std::error_code unknown;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", unknown)) {
    const std::filesystem::path& path = thread.path();
    const std::string in_kernel = FirstLine(path / "wchan");
    text << "  thread " << path.filename().string() << " " << FirstLine(path / "comm") << ": state "
         << StateIn(FirstLine(path / "stat"));
    if (!in_kernel.empty() && in_kernel != "0") text << ", waits in " << in_kernel;
    text << ", system call " << FirstLine(path / "syscall") << "\n";
  }
  return text.str();
}

namespace {

// Until `limit` has passed since now and since the last write, or kLongestSave since now.
void WaitWithoutWrites(std::chrono::duration<double> limit) {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::minutes kLongestSave(10);
  const Clock::time_point begin = Clock::now();
  Clock::time_point written = begin;
  int64_t writes = CountedWrites();
  while (Clock::now() - written < limit && Clock::now() - begin < kLongestSave) {
    std::this_thread::sleep_for(std::min(limit / 10, std::chrono::duration<double>(0.1)));
    if (std::exchange(writes, CountedWrites()) != writes) written = Clock::now();
  }
}

// Neither through the log nor stdio: a thread that hangs may hold their locks. Gives up after three
// seconds, because nobody may read stderr, or its disk may hang.
void WriteToStderr(const std::string& text) {
  const auto write_text = [text] {
    [[maybe_unused]] const ssize_t bytes = write(STDERR_FILENO, text.data(), text.size());
  };
  const auto written = std::make_shared<std::promise<void>>();
  try {
    std::thread([write_text, written] {
      write_text();
      written->set_value();
    }).detach();
  } catch (const std::system_error&) {  // there are too many threads
    return write_text();
  }
  written->get_future().wait_for(std::chrono::seconds(3));
}

}  // namespace

void EndProcessAfter(double seconds, const std::string& reason, int status) {
  static std::atomic<bool> started{false};
  if (started.exchange(true)) return;
  std::thread([=] {
    WaitWithoutWrites(std::chrono::duration<double>(seconds));
    std::string text = reason + "\n";
    if (seconds > 0) {
      text += "The process did not end within " + std::to_string(static_cast<int>(seconds)) +
              " s and is ended now. Its threads:\n" + DescribeThreads();
    }
    WriteToStderr(text);
    _exit(status);
  }).detach();
}

}  // namespace caffe2
