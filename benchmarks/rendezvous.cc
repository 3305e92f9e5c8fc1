// From start to the first common world: joining a run with all its checks, then connecting all
// shards with each other. Milliseconds of the slowest shard, median over rounds.
//
//   rendezvous [--shards=2] [--rounds=9] [--redis_port=0 (0: a file store)]

#include <gflags/gflags.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "distributed/file_store_handler.h"
#include "distributed/gloo_communicator.h"
#include "distributed/redis_store_handler.h"
#include "distributed/run_membership.h"

DEFINE_int32(shards, 2, "Number of processes");
DEFINE_int32(rounds, 9, "How often");
DEFINE_int32(redis_port, 0, "Port of a Redis server on this host; 0: a shared directory");

namespace {

using Clock = std::chrono::steady_clock;

struct Times {
  double join = 0, connect = 0;  // ms
};

Times RunShard(const caffe2::StoreFactory& stores, int shard, int round) {
  const auto start = Clock::now();
  caffe2::RunOptions options;
  options.run_id =
      "rendezvous_benchmark_" + std::to_string(getppid()) + "." + std::to_string(round);
  options.num_shards = FLAGS_shards;
  options.shard_id = shard;
  options.fingerprint = {{"model", "resnet50"}, {"batch_size", "32"}};
  auto run = caffe2::RunMembership::Join(stores, options);
  const auto joined = Clock::now();
  auto store = run->MakeStore();
  caffe2::CommunicatorOptions gloo;
  gloo.rank = shard;
  gloo.size = FLAGS_shards;
  gloo.interface = "127.0.0.1";
  auto world = caffe2::ConnectGloo(store.get(), gloo);
  const auto connected = Clock::now();
  Times own{std::chrono::duration<double, std::milli>(joined - start).count(),
            std::chrono::duration<double, std::milli>(connected - start).count()};
  std::vector<Times> all(FLAGS_shards);
  world->Allgather("times", &own, all.data(), sizeof own, caffe2::TypeMeta::Make<uint8_t>());
  for (const Times& times : all) {
    own.join = std::max(own.join, times.join);
    own.connect = std::max(own.connect, times.connect);
  }
  run->Leave();
  return own;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  FLAGS_minloglevel = 1;
  std::string directory = std::filesystem::temp_directory_path() / "rendezvous_XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return 1;
  caffe2::StoreFactory stores = caffe2::FileStores(directory);
  if (FLAGS_redis_port != 0) {
    caffe2::RedisOptions redis;
    redis.port = FLAGS_redis_port;
    stores = caffe2::RedisStores(redis);
  }
  std::vector<double> join, connect;
  int failed = 0;
  for (int round = 0; round < FLAGS_rounds; ++round) {
    int ends[2];
    if (pipe(ends) != 0) return 1;
    for (int shard = 0; shard < FLAGS_shards; ++shard) {
      if (fork() != 0) continue;
      int status = 0;
      try {
        const Times times = RunShard(stores, shard, round);
        if (shard == 0 && write(ends[1], &times, sizeof times) != sizeof times) status = 1;
      } catch (const std::exception& e) {
        std::fprintf(stderr, "shard %d: %s\n", shard, e.what());
        status = 1;
      }
      _exit(status);
    }
    close(ends[1]);
    Times times;
    if (read(ends[0], &times, sizeof times) == sizeof times) {
      join.push_back(times.join);
      connect.push_back(times.connect);
    }
    close(ends[0]);
    for (int status; wait(&status) > 0;) failed += status != 0;
  }
  std::filesystem::remove_all(directory);
  if (failed != 0 || join.empty()) return 1;
  std::printf("%2d shards, %s: joined %7.1f ms, connected %7.1f ms\n", FLAGS_shards,
              FLAGS_redis_port != 0 ? "redis" : "file store", Median(join), Median(connect));
  return 0;
}
