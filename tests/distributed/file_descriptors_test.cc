#include "distributed/file_descriptors.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include "caffe2/core/logging.h"
#include "distributed/file_store_handler.h"
#include "distributed/run_store_handler.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

// Sets the limits in a process of its own, so that the other tests keep theirs.
std::string WithLimits(rlim_t soft, rlim_t hard, const std::function<std::string()>& body) {
  const auto results = RunShards(1, [&](int) {
    const rlimit limit{soft, hard};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
    return body();
  });
  return results[0].message;
}

TEST(FileDescriptorsTest, RaisesTheOwnLimit) {
  EXPECT_EQ(WithLimits(64, 512,
                       [] {
                         ReserveFileDescriptors(200, "a test");
                         int opened = 0;
                         while (opened < 200 && open("/dev/null", O_RDONLY) >= 0) ++opened;
                         return MakeString(opened);
                       }),
            "200");
}

TEST(FileDescriptorsTest, NamesWhatIsNeeded) {
  const std::string error = WithLimits(64, 64, [] {
    ReserveFileDescriptors(200, "a common world");
    return std::string("no error");
  });
  EXPECT_HAS(error, "a common world needs 200 file descriptors");
  EXPECT_HAS(error, "the limit of this process is 64: allow more with `ulimit -n 2");
}

TEST(FileDescriptorsTest, AreReservedBeforeTheOtherShardsCome) {
  TemporaryDirectory directory;
  const std::string error = WithLimits(40, 40, [&] {
    RunOptions options;
    options.run_id = "alone";
    options.join_timeout = std::chrono::minutes(10);
    RunStoreHandler(FileStores(directory.path()), options).Join(32, 0, {}, "cpu", {});
    return std::string("no error");
  });
  EXPECT_HAS(error, "a common world needs 160 file descriptors");
}

TEST(FileDescriptorsTest, LeavesALimitThatIsHighEnough) {
  EXPECT_EQ(WithLimits(128, 512,
                       [] {
                         ReserveFileDescriptors(16, "a test");
                         rlimit limit{};
                         getrlimit(RLIMIT_NOFILE, &limit);
                         return MakeString(limit.rlim_cur);
                       }),
            "128");
}

}  // namespace
}  // namespace caffe2::testing
