#include "caffe2/utils/parallel.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace caffe2 {
namespace {

// Four threads, whatever the machine has.
class ParallelForTest : public ::testing::Test {
 protected:
  ParallelForTest() { omp_set_num_threads(kThreads); }
  ~ParallelForTest() override { omp_set_num_threads(threads_before_); }

  // The parts of [0, n), in order.
  static std::vector<std::pair<int64_t, int64_t>> PartsOf(int64_t n, int64_t grain) {
    std::mutex mutex;
    std::vector<std::pair<int64_t, int64_t>> parts;
    ParallelFor(n, grain, [&](int64_t begin, int64_t end) {
      std::lock_guard<std::mutex> lock(mutex);
      parts.emplace_back(begin, end);
    });
    std::sort(parts.begin(), parts.end());
    return parts;
  }

  static constexpr int kThreads = 4;

 private:
  const int threads_before_ = omp_get_max_threads();
};

TEST_F(ParallelForTest, PartsCoverTheRangeEvenly) {
  for (const int64_t grain : {1, 2, 3, 7, 10}) {
    for (int64_t n = 1; n < 50; ++n) {
      const auto parts = PartsOf(n, grain);
      ASSERT_FALSE(parts.empty());
      EXPECT_LE(parts.size(), kThreads);
      int64_t covered = 0, smallest = n, largest = 0;
      for (const auto& [begin, end] : parts) {
        EXPECT_EQ(begin, covered) << n << " elements, grain " << grain;
        covered = end;
        smallest = std::min(smallest, end - begin);
        largest = std::max(largest, end - begin);
      }
      EXPECT_EQ(covered, n);
      EXPECT_LE(largest, smallest + 1);
      if (parts.size() > 1) {
        EXPECT_GE(2 * smallest, grain) << n << " elements";
      }
    }
  }
  EXPECT_EQ(PartsOf(40, 10).size(), kThreads);
  EXPECT_EQ(PartsOf(20, 10).size(), 2);
  EXPECT_EQ(PartsOf(10, 10).size(), 1);
  EXPECT_TRUE(PartsOf(0, 1).empty());
  EXPECT_TRUE(PartsOf(-3, 1).empty());
}

TEST_F(ParallelForTest, ALoopInAPartIsNotDivided) {
  std::atomic<int> outer{0}, inner{0};
  ParallelFor(kThreads, 1, [&](int64_t, int64_t) {
    ++outer;
    const int thread = omp_get_thread_num();
    ParallelFor(100, 1, [&](int64_t begin, int64_t end) {
      EXPECT_EQ(begin, 0);
      EXPECT_EQ(end, 100);
      EXPECT_EQ(omp_get_thread_num(), thread);
      ++inner;
    });
  });
  EXPECT_EQ(outer.load(), kThreads);
  EXPECT_EQ(inner.load(), kThreads);
}

TEST_F(ParallelForTest, AnErrorIsThrownAfterAllPartsHaveEnded) {
  std::atomic<int> parts{0};
  EXPECT_THROW(ParallelFor(kThreads, 1,
                           [&](int64_t begin, int64_t) {
                             ++parts;
                             if (begin % 2 == 1) throw std::runtime_error("part");
                           }),
               std::runtime_error);
  EXPECT_EQ(parts.load(), kThreads);
  EXPECT_EQ(PartsOf(kThreads, 1).size(), kThreads) << "loops go on after it";
}

}  // namespace
}  // namespace caffe2
