// What the tests of stores, runs and communicators share: shards as forked processes or threads,
// a private Redis server, a temporary directory. Everything is gone when its object is.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "caffe2/utils/seconds_since.h"
#include "distributed/redis_store_handler.h"
#include "tests/db/temporary_directory.h"

namespace caffe2::testing {

// A port of the loopback address that nobody uses now.
int FreePort();

// A redis-server on a loopback port, by default a free one; killed by the destructor, and when the
// thread that made it ends. started() is false where the program is not installed.
class PrivateRedis {
 public:
  explicit PrivateRedis(const std::vector<std::string>& arguments = {}, int port = 0);
  ~PrivateRedis();
  bool started() const { return pid_ > 0; }
  void Signal(int signal) const;
  RedisOptions options() const;

 private:
  pid_t pid_ = -1;
  int port_ = 0;
};

#define REQUIRE_REDIS(redis) \
  if (!(redis).started()) GTEST_SKIP() << "redis-server is not installed"

// How a shard process ended.
struct ShardResult {
  int status = 0;       // exit status, or 128 + signal
  std::string message;  // what body returned, or the text of its exception (status 1)
  double seconds = 0;   // from the start of all shards
};

// Runs body(shard) in `count` forked processes and returns how each ended. A process that still
// runs after `limit_seconds` is killed (its status is then 137). `during` runs meanwhile, with the
// process ids.
std::vector<ShardResult> RunShards(
    int count, const std::function<std::string(int shard)>& body, double limit_seconds = 30,
    const std::function<void(const std::vector<pid_t>& pids)>& during = {});

// Runs body(shard) in threads; rethrows the first exception after all have ended.
void RunThreads(int count, const std::function<void(int shard)>& body);

// The text of the exception that body throws; "no error" if it throws none.
std::string ErrorOf(const std::function<void()>& body);
#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << text

void SleepMs(int ms);
// What a busy machine may add to a time that is measured here. What waits by mistake waits for the
// default timeout, which is longer.
inline constexpr double kSlackSeconds = 20;

}  // namespace caffe2::testing
