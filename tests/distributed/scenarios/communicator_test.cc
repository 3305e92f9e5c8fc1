#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <mutex>
#include <thread>

#include "distributed/accumulate.h"
#include "distributed/file_store_handler.h"
#include "distributed/gloo_communicator.h"
#include "distributed/memory_store_handler.h"
#include "distributed/shared_memory_communicator.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

CommunicatorOptions WorldOptions(const char* transport, int rank, int size,
                                 int timeout_ms = 20000) {
  CommunicatorOptions options;
  options.rank = rank;
  options.size = size;
  options.name = "world";
  options.transport = transport;
  options.interface = "127.0.0.1";
  options.timeout = milliseconds(timeout_ms);
  return options;
}

// Runs body in `size` threads, each with its communicator.
void RunRanks(const char* transport, int size, const std::function<void(Communicator*)>& body,
              int timeout_ms = 20000) {
  const StoreFactory stores = MemoryStores();
  RunThreads(size, [&](int rank) {
    auto store = stores("run");
    body(ConnectShards(store.get(), WorldOptions(transport, rank, size, timeout_ms)).get());
  });
}

// The parameter is the transport.
class CommunicatorTest : public ::testing::TestWithParam<const char*> {
 protected:
  CommunicatorOptions Options(int rank, int size, int timeout_ms = 20000) const {
    return WorldOptions(GetParam(), rank, size, timeout_ms);
  }
  void RunRanks(int size, const std::function<void(Communicator*)>& body, int timeout_ms = 20000) {
    testing::RunRanks(GetParam(), size, body, timeout_ms);
  }
};
constexpr const char* kTransports[] = {"tcp", "shared_memory"};
INSTANTIATE_TEST_SUITE_P(Transports, CommunicatorTest, ::testing::ValuesIn(kTransports));

class AllreduceTest : public ::testing::TestWithParam<std::tuple<const char*, int>> {};

TEST_P(AllreduceTest, SumsAndGivesTheSameBitsToAll) {
  const auto [transport, size] = GetParam();
  // Below and above the limits of the three algorithms, and sizes that do not divide evenly.
  const std::vector<int64_t> counts = {1, 2, 3, 17, 1000, 70001, 100003, 1300001, 5000011};
  std::mutex mutex;
  std::map<int64_t, std::vector<float>> of_rank_0;
  auto value = [](int rank, int64_t i) { return 0.1f * (rank + 1) + 1e-3f * (i % 977); };
  RunRanks(transport, size, [&, size = size](Communicator* world) {
    for (const int64_t count : counts) {
      std::vector<float> data(count);
      for (int64_t i = 0; i < count; ++i) data[i] = value(world->rank(), i);
      world->Allreduce(MakeString("x", count), data.data(), count, TypeMeta::Make<float>());
      std::lock_guard<std::mutex> lock(mutex);
      if (of_rank_0[count].empty()) of_rank_0[count] = data;
      EXPECT_EQ(of_rank_0[count], data) << count;  // bit by bit
      for (int64_t i = 0; i < count; ++i) {
        double sum = 0;
        for (int rank = 0; rank < size; ++rank) sum += value(rank, i);
        ASSERT_NEAR(data[i], sum, 1e-5 * sum) << "element " << i << " of " << count;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, AllreduceTest,
                         ::testing::Combine(::testing::ValuesIn(kTransports),
                                            ::testing::Values(1, 2, 3, 4, 5, 8)));

template <typename T>
void CheckType(Communicator* world, const std::vector<T>& expected, T own) {
  std::vector<T> data(expected.size(), own);
  world->Allreduce(TypeName<T>::Get(), data.data(), static_cast<int64_t>(data.size()),
                   TypeMeta::Make<T>());
  EXPECT_TRUE(data == expected) << TypeName<T>::Get();
}

TEST_P(CommunicatorTest, AllreduceOfEveryType) {
  RunRanks(3, [](Communicator* world) {
    const int rank = world->rank();
    CheckType<double>(world, {0.75, 0.75}, 0.25);
    CheckType<int32_t>(world, {3, 3}, rank);
    CheckType<int64_t>(world, {int64_t{3} << 40}, int64_t{rank} << 40);
    CheckType<uint8_t>(world, {30}, 10);
    CheckType<float16>(world, {ToFloat16(4.5f)}, ToFloat16(1.5f));
    CheckType<bfloat16>(world, {ToBFloat16(-7.5f)}, ToBFloat16(-2.5f));
    bool flag = true;
    EXPECT_THROW(world->Allreduce("flag", &flag, 1, TypeMeta::Make<bool>()), EnforceNotMet);
  });
}

TEST_P(CommunicatorTest, BroadcastAllgatherReduceScatterBarrier) {
  for (const int size : {1, 2, 3, 5}) {
    RunRanks(size, [size](Communicator* world) {
      const int rank = world->rank();
      for (int root = 0; root < size; ++root) {
        std::vector<int32_t> data(10000, rank);
        world->Broadcast("data", data.data(), 10000, TypeMeta::Make<int32_t>(), root);
        EXPECT_EQ(data, std::vector<int32_t>(10000, root));
      }
      std::vector<float> own(3, static_cast<float>(rank)), all(3 * size);
      world->Allgather("own", own.data(), all.data(), 3, TypeMeta::Make<float>());
      for (int i = 0; i < 3 * size; ++i) EXPECT_EQ(all[i], i / 3);
      // Parts of different sizes, one of them empty.
      std::vector<int64_t> counts;
      int64_t total = 0;
      for (int i = 0; i < size; ++i) counts.push_back(i == 1 ? 0 : 300000 + i);
      for (const int64_t count : counts) total += count;
      std::vector<float> data(total);
      for (int64_t i = 0; i < total; ++i) data[i] = static_cast<float>(i % 1000 + rank);
      world->ReduceScatter("data", data.data(), counts, TypeMeta::Make<float>());
      int64_t begin = 0;
      for (int i = 0; i < rank; ++i) begin += counts[i];
      for (int64_t i = 0; i < counts[rank]; ++i) {
        ASSERT_EQ(data[i], size * ((begin + i) % 1000) + size * (size - 1) / 2);
      }
      world->Barrier("end");
    });
  }
}

TEST_P(CommunicatorTest, BarrierHoldsUntilTheLastArrives) {
  std::atomic<int> arrived{0};
  RunRanks(4, [&](Communicator* world) {
    if (world->rank() == 2) SleepMs(200);
    ++arrived;
    world->Barrier("all");
    EXPECT_EQ(arrived, 4);
  });
}

TEST_P(CommunicatorTest, CloneWorksBesideTheFirst) {
  RunRanks(3, [](Communicator* world) {
    auto second = world->Clone("second");
    float a = 1, b = 2;
    world->Allreduce("a", &a, 1, TypeMeta::Make<float>());
    second->Allreduce("b", &b, 1, TypeMeta::Make<float>());
    EXPECT_EQ(a, 3);
    EXPECT_EQ(b, 6);
  });
}

TEST_P(CommunicatorTest, DisagreementIsNamedOnEveryShard) {
  struct Case {
    int64_t count;
    bool half;
    const char* name;
    const char* text;
  };
  const Case cases[] = {{101, false, "x", "shard 2 runs Allreduce of 101 x float, root 0: x"},
                        {100, true, "x", "shard 2 runs Allreduce of 100 x float16, root 0: x"},
                        {100, false, "y", "shard 2 runs Allreduce of 100 x float, root 0: y"}};
  for (const Case& wrong : cases) {
    std::atomic<int> named{0};
    RunRanks(3, [&](Communicator* world) {
      std::vector<float> data(200);
      const bool odd = world->rank() == 2;
      try {
        world->Allreduce(odd ? wrong.name : "x", data.data(), odd ? wrong.count : 100,
                         odd && wrong.half ? TypeMeta::Make<float16>() : TypeMeta::Make<float>());
        ADD_FAILURE() << "no error on rank " << world->rank();
      } catch (const EnforceNotMet& e) {
        EXPECT_NE(std::string(e.what()).find("shard 0 runs Allreduce of 100 x float, root 0: x"),
                  std::string::npos)
            << e.what();
        named += std::string(e.what()).find(wrong.text) != std::string::npos;
      }
    });
    EXPECT_EQ(named, 3);
  }
}

TEST_P(CommunicatorTest, SizeChangedOnOneShardIsATimeoutNotAnAbort) {
  std::atomic<int> failed{0};
  RunRanks(
      2,
      [&](Communicator* world) {
        std::vector<float> data(200);
        world->Allreduce("x", data.data(), 100, TypeMeta::Make<float>());
        const auto start = std::chrono::steady_clock::now();
        try {
          world->Allreduce("x", data.data(), 100 + world->rank(), TypeMeta::Make<float>());
        } catch (const IoError& e) {
          ++failed;
        }
        EXPECT_LT(SecondsSince(start), 1 + kSlackSeconds);
      },
      1000);
  EXPECT_EQ(failed, 2);
}

TEST_P(CommunicatorTest, AbortEndsAWaitFromAnotherThread) {
  RunRanks(2, [](Communicator* world) {
    if (world->rank() == 1) {
      SleepMs(300);
      world->Abort("the test says so");
      return;
    }
    const auto start = std::chrono::steady_clock::now();
    EXPECT_THROW(world->Barrier("b"), PeerLost);
    EXPECT_LT(SecondsSince(start), 0.3 + kSlackSeconds);
    EXPECT_THROW(world->Barrier("b"), PeerLost);  // it stays broken
  });
}

// The peer says nothing, does nothing and keeps its connections: only the abort here ends the wait.
TEST_P(CommunicatorTest, AbortWakesTheWaitOfItsOwnShard) {
  std::atomic<bool> woken{false}, peer_gone{false};
  RunRanks(
      2,
      [&](Communicator* world) {
        if (world->rank() == 1) {
          for (int i = 0; i < 1000 && !woken; ++i) SleepMs(10);
          peer_gone = true;
          return;
        }
        std::thread other([&] {
          SleepMs(300);
          world->Abort("the test says so");
        });
        try {
          world->Barrier("b");
          ADD_FAILURE() << "the barrier was passed alone";
        } catch (const PeerLost& error) {
          EXPECT_NE(std::string(error.what()).find("the test says so"), std::string::npos)
              << error.what();
        }
        EXPECT_FALSE(peer_gone);
        woken = true;
        other.join();
      },
      60000);
}

TEST_P(CommunicatorTest, MissingShardIsNamedAtTheDeadline) {
  auto store = MemoryStores()("run");
  const auto start = std::chrono::steady_clock::now();
  try {
    ConnectShards(store.get(), Options(0, 3, 700));
    FAIL();
  } catch (const PeerTimeout& e) {
    EXPECT_EQ(e.rank(), 1);
    EXPECT_NE(std::string(e.what()).find("world/1, world/2"), std::string::npos) << e.what();
  }
  EXPECT_GE(SecondsSince(start), 0.69);
  EXPECT_LT(SecondsSince(start), 0.7 + kSlackSeconds);
}

TEST_P(CommunicatorTest, BadOptionsAndHostileAddresses) {
  const StoreFactory stores = MemoryStores();
  auto store = stores("run");
  CommunicatorOptions options = Options(0, 2, 500);
  options.transport = "ibverbs";
  EXPECT_THROW(ConnectShards(store.get(), options), EnforceNotMet);
  options = Options(2, 2, 500);
  EXPECT_THROW(ConnectShards(store.get(), options), EnforceNotMet);
  options = Options(0, 2, 500);
  options.interface = "nope0";
  EXPECT_THROW(ConnectShards(store.get(), options), EnforceNotMet);
  for (const char* text : {"", "host=a pid=1 boot=x", "host=a pid=1 boot=x nonsense -",
                           "host=a pid=1 boot=x 127.0.0.1|70000|-1 -", "\xff\xfe\x00 | | |"}) {
    auto fresh = MemoryStores()("run");
    fresh->Set("world/1", text);
    EXPECT_THROW(ConnectShards(fresh.get(), Options(0, 2, 500)), IoError) << text;
  }
  auto fresh = MemoryStores()("run");
  fresh->Set("world/1", "host=b pid=1 boot=another 127.0.0.1|4000|-1 -");
  EXPECT_THROW(ConnectShards(fresh.get(), Options(0, 2, 500)), EnforceNotMet);
}

TEST_P(CommunicatorTest, KilledShardIsNamedWithinSeconds) {
  TemporaryDirectory directory;
  const auto results = RunShards(
      3,
      [&](int rank) {
        auto store = NewFileStore(directory.path(), "run");
        auto world = ConnectShards(store.get(), Options(rank, 3));
        std::vector<float> data(100000);
        for (int i = 0; i < 1000000; ++i) {
          if (rank == 1 && i == 20) raise(SIGKILL);
          world->Allreduce("x", data.data(), 100000, TypeMeta::Make<float>());
        }
        return std::string("done");
      },
      20);
  EXPECT_EQ(results[1].status, 128 + SIGKILL);
  for (const int survivor : {0, 2}) {
    EXPECT_EQ(results[survivor].status, 1);
    EXPECT_LT(results[survivor].seconds, 1 + 2 * kSlackSeconds);
  }
  // Whoever was told first names the dead one; the other may name that one.
  const std::string all = results[0].message + results[2].message;
  EXPECT_NE(all.find("Allreduce x: rank 1 (host "), std::string::npos) << all;
}

TEST_P(CommunicatorTest, StoppedShardIsATimeoutAtTheDeadline) {
  TemporaryDirectory directory;
  const auto results = RunShards(
      2,
      [&](int rank) {
        auto store = NewFileStore(directory.path(), "run");
        auto world = ConnectShards(store.get(), Options(rank, 2, 1500));
        float x = 1;
        world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
        if (rank == 1) raise(SIGSTOP);
        const auto start = std::chrono::steady_clock::now();
        try {
          world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
        } catch (const PeerTimeout& e) {
          return MakeString(SuspectOf(e), " ", (SecondsSince(start) >= 1.4), " ", e.what());
        }
        return std::string("no timeout");
      },
      8);
  EXPECT_EQ(results[0].message.rfind("1 1 Allreduce x: rank 1 (host ", 0), 0u)
      << results[0].message;
  EXPECT_NE(results[0].message.find("did not answer within 1500 ms"), std::string::npos);
}

// A stranger connects to a shard's port before the other shard does, and sends something. It is
// counted and dropped. Later nobody listens.
class StrangerTest : public ::testing::TestWithParam<std::pair<const char*, std::string>> {
 protected:
  // A socket that is connected to the port, or -1.
  static int ConnectTo(int port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(static_cast<uint16_t>(port));
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }
  // Where one of two ranks waits for the other, by what it published.
  static int PortOf(const std::string& text) {
    return std::stoi(text.substr(text.rfind("127.0.0.1|") + 10));
  }
};

TEST_P(StrangerTest, DoesNotEndTheRun) {
  TemporaryDirectory directory;
  const auto results = RunShards(
      2,
      [&](int rank) {
        const int64_t before = StrangersDropped();
        auto store = NewFileStore(directory.path(), "run");
        if (rank == 1) {  // gives way to the stranger
          const int fd = ConnectTo(PortOf(store->Get("world/0", milliseconds(5000))));
          CAFFE_ENFORCE_GE(fd, 0);
          const std::string& sent = GetParam().second;
          send(fd, sent.data(), sent.size(), MSG_NOSIGNAL);
          SleepMs(100);
        }
        auto world = ConnectShards(store.get(), WorldOptions("tcp", rank, 2, 9000));
        float x = 1;
        world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
        for (const char* key : {"world/0", "world/1"}) {
          CAFFE_ENFORCE_LT(ConnectTo(PortOf(store->Get(key))), 0, key, " still listens");
        }
        world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
        return MakeString(x, ", strangers: ", StrangersDropped() - before);
      },
      20);
  for (const ShardResult& result : results) EXPECT_EQ(result.status, 0) << result.message;
  EXPECT_EQ(results[0].message, "4, strangers: 1");
  EXPECT_EQ(results[1].message, "4, strangers: 0");
}

// What would be the start of a message of Gloo: six 64-bit words.
std::string Preamble(uint64_t opcode, uint64_t slot = 7, uint64_t nbytes = 8) {
  const uint64_t words[6] = {48 + nbytes, opcode, slot, 0, nbytes, 0};
  return std::string(reinterpret_cast<const char*>(words), sizeof words);
}

// The greeting that shard 1 owes shard 0, but for the password.
std::string Impostor() {
  const uint64_t password = 1;
  const int32_t from_to[2] = {1, 0};
  std::string greeting = "doppio04";
  greeting.append(reinterpret_cast<const char*>(&password), sizeof password);
  greeting.append(reinterpret_cast<const char*>(from_to), sizeof from_to);
  return greeting;
}

INSTANTIATE_TEST_SUITE_P(
    Sends, StrangerTest,
    ::testing::Values(std::pair("Nothing", ""), std::pair("Junk", std::string(64, '\x5a')),
                      std::pair("Zeros", std::string(4096, '\0')),
                      std::pair("Http", "GET / HTTP/1.1\r\n\r\n"),
                      std::pair("Message0", Preamble(0)), std::pair("Message1", Preamble(1)),
                      std::pair("TooLong", Preamble(1, ~uint64_t{0}, 1 << 20)),
                      std::pair("Impostor", Impostor()), std::pair("Message2", Preamble(2)),
                      std::pair("Message3", Preamble(3))),
    [](const auto& info) { return info.param.first; });

TEST_P(CommunicatorTest, RepeatedWorldsLeakNoDescriptorsAndNoThreads) {
  const auto entries = [](const char* folder) {
    const auto all = std::filesystem::directory_iterator(folder);
    return std::distance(begin(all), end(all));
  };
  RunRanks(2, [](Communicator* world) { world->Barrier("warm up"); });
  const auto files = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  for (int i = 0; i < 50; ++i) RunRanks(3, [](Communicator* world) { world->Barrier("b"); });
  // The kernel may list a thread for a moment after it was joined.
  for (int i = 0; i < 100 && entries("/proc/self/task") > threads + 2; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_LE(entries("/proc/self/fd"), files + 2);
  EXPECT_LE(entries("/proc/self/task"), threads + 2);
}

}  // namespace
}  // namespace caffe2::testing
