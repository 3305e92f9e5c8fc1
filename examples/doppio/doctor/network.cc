// The network: interfaces and sums between two shards.
#include <bit>
#include <chrono>
#include <cstdio>
#include <exception>
#include <thread>
#include <vector>

#include "distributed/gloo_communicator.h"
#include "distributed/host.h"
#include "distributed/memory_store_handler.h"
#include "examples/doppio/doctor/checks.h"

namespace caffe2::doctor {
namespace {

constexpr int kShards = 2;
constexpr int64_t kCount = 1 << 20;  // floats, 4 MiB
constexpr milliseconds kTimeout{10000};

// Element i of what a shard gives: a fraction, so that a wrong order of bytes or an approximate sum
// shows.
float Summand(int shard, int64_t i) { return static_cast<float>(i % 1000 + shard) / 3.f; }

// Adds the array over the shards; returns the milliseconds of the second addition. The first one
// also compares the operations of the shards.
double TimeAllreduce(const StoreFactory& stores, int shard, std::vector<float>* data) {
  CommunicatorOptions options;
  options.rank = shard;
  options.size = kShards;
  options.interface = "127.0.0.1";
  options.timeout = kTimeout;
  const auto world = ConnectGloo(stores("doctor").get(), options);
  double milliseconds = 0;
  for (int repetition = 0; repetition < 2; ++repetition) {
    for (int64_t i = 0; i < kCount; ++i) (*data)[static_cast<size_t>(i)] = Summand(shard, i);
    world->Barrier("doctor_start");
    const auto begin = std::chrono::steady_clock::now();
    world->Allreduce("doctor_sum", data->data(), kCount, TypeMeta::Make<float>());
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    milliseconds = time.count();
  }
  world->Barrier("doctor_end");  // no shard closes its sockets while the other still receives
  return milliseconds;
}

int64_t CountWrongSums(const std::vector<float>& sums) {
  int64_t wrong = 0;
  for (int64_t i = 0; i < kCount; ++i) {
    const float expected = Summand(0, i) + Summand(1, i);
    wrong +=
        std::bit_cast<uint32_t>(sums[static_cast<size_t>(i)]) != std::bit_cast<uint32_t>(expected);
  }
  return wrong;
}

const char* FixOf(ExitCode code) {
  return code == ExitCode::kSystem
             ? "give this process more of what the system ran short of (ulimit -a, docker run "
               "--ulimit)"
             : "allow TCP connections to 127.0.0.1 between processes of this host (firewall, "
               "sandbox)";
}

}  // namespace

Findings CheckInterfaces() {
  std::string text;
  bool reaches_others = false;
  for (const Interface& each : ListInterfaces()) {
    text += (text.empty() ? "" : ", ") + each.name + " " + each.address;
    reaches_others |= !IsLoopback(each.address);
  }
  if (text.empty()) {
    return {Error("interfaces", "no network interface is up", "run: ip link set lo up",
                  ExitCode::kSystem)};
  }
  if (!reaches_others) text += "; shards on this host only";
  return {Ok("interfaces", text)};
}

Findings CheckAllreduce() {
  const StoreFactory stores = MemoryStores();
  std::vector<std::vector<float>> data(kShards, std::vector<float>(kCount));
  std::vector<double> milliseconds(kShards);
  std::vector<std::exception_ptr> errors(kShards);
  std::vector<std::thread> threads;
  for (int shard = 0; shard < kShards; ++shard) {
    threads.emplace_back([&, at = static_cast<size_t>(shard)] {
      try {
        milliseconds[at] = TimeAllreduce(stores, static_cast<int>(at), &data[at]);
      } catch (...) {
        errors[at] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (!error) continue;
    try {
      std::rethrow_exception(error);
    } catch (const std::exception& failure) {
      const ExitCode code = ExitCodeOf(failure);
      return {Error("allreduce", failure.what(), FixOf(code), code)};
    }
  }
  for (const auto& sums : data) {
    if (const int64_t wrong = CountWrongSums(sums); wrong > 0) {
      return {Error("allreduce", MakeString(wrong, " of ", kCount, " sums are wrong"),
                    "test the memory of this machine (memtest86+)", ExitCode::kInternal)};
    }
  }
  char time[32];
  std::snprintf(time, sizeof(time), "%.1f ms", std::max(milliseconds[0], milliseconds[1]));
  return {Ok("allreduce", MakeString("2 shards over 127.0.0.1, 4 MiB of floats in ", time,
                                     ", equal to the bit"))};
}

}  // namespace caffe2::doctor
