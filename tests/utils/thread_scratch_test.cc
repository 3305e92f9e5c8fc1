#include "caffe2/utils/thread_scratch.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>

#include "caffe2/core/device_backend.h"

namespace caffe2 {
namespace {

TEST(ThreadScratchTest, IsAlignedAndGrowsToTheLargestRequest) {
  std::thread([] {  // whose memory no other test has made large
    const char* small = ThreadScratch(100);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(small) % 64, 0);
    char* large = ThreadScratch(1 << 20);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(large) % 64, 0);
    std::memset(large, 1, 1 << 20);
    EXPECT_EQ(ThreadScratch(100), large);
    EXPECT_EQ(ThreadScratch(1 << 20), large);
  })
      .join();
}

TEST(ThreadScratchTest, EachThreadHasItsOwn) {
  char* own = ThreadScratch(64);
  std::memset(own, 1, 64);
  std::thread([own] {
    char* other = ThreadScratch(64);
    EXPECT_NE(other, own);
    std::memset(other, 2, 64);
  }).join();
  for (int i = 0; i < 64; ++i) EXPECT_EQ(own[i], 1) << i;
}

TEST(ThreadScratchTest, WorksAgainAfterARequestThatIsTooLarge) {
  std::thread([] {
    ThreadScratch(64);
    EXPECT_THROW(ThreadScratch(SIZE_MAX), OutOfMemoryError);
    char* memory = ThreadScratch(64);
    ASSERT_NE(memory, nullptr);
    std::memset(memory, 1, 64);
  }).join();
}

}  // namespace
}  // namespace caffe2
