#include "caffe2/utils/thread_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

namespace caffe2 {
namespace {

TEST(ThreadLoopTest, EveryIndexRunsOnce) {
  for (const int threads : {1, 3, 20}) {
    std::vector<std::atomic<int>> runs(17);
    std::atomic<bool> bad_thread{false};
    ForEachOnThreads(5, 17, threads, [&](size_t i, int thread) {
      ++runs[i];
      if (thread < 0 || thread >= threads) bad_thread = true;
    });
    for (size_t i = 0; i < runs.size(); ++i) EXPECT_EQ(runs[i].load(), i >= 5 ? 1 : 0) << i;
    EXPECT_FALSE(bad_thread.load());
  }
}

TEST(ThreadLoopTest, NothingToDo) {
  ForEachOnThreads(3, 3, 2, [](size_t, int) { FAIL(); });
}

TEST(ThreadLoopTest, TheFirstErrorIsThrownAfterAllHaveRun) {
  std::atomic<int> runs{0};
  try {
    ForEachOnThreads(0, 30, 4, [&](size_t i, int) {
      ++runs;
      if (i % 10 == 7) throw std::runtime_error("item " + std::to_string(i));
    });
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "item 7");
  }
  EXPECT_EQ(runs.load(), 30);
}

}  // namespace
}  // namespace caffe2
