#include "distributed/shared_memory_communicator.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <random>
#include <sstream>
#include <stop_token>
#include <thread>

#include "distributed/file_store_handler.h"
#include "distributed/gloo_communicator.h"
#include "distributed/memory_store_handler.h"
#include "tests/distributed/test_util.h"

namespace caffe2::testing {
namespace {

CommunicatorOptions WorldOptions(const std::string& transport, int rank, int size,
                                 int timeout_ms = 20000) {
  CommunicatorOptions options;
  options.rank = rank;
  options.size = size;
  options.name = "world_" + transport;
  options.transport = transport;
  options.interface = "127.0.0.1";
  options.timeout = milliseconds(timeout_ms);
  return options;
}

// Runs body in `size` threads, each with a communicator of both kinds.
void RunWithBoth(int size,
                 const std::function<void(Communicator* memory, Communicator* tcp)>& body) {
  const StoreFactory stores = MemoryStores();
  RunThreads(size, [&](int rank) {
    auto store = stores("run");
    auto memory = ConnectShards(store.get(), WorldOptions("shared_memory", rank, size));
    auto tcp = ConnectGloo(store.get(), WorldOptions("tcp", rank, size));
    body(memory.get(), tcp.get());
  });
}

// Numbers whose sums depend on the order of the additions.
template <typename T>
std::vector<T> RandomData(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> exponent(-6, 6);
  std::vector<T> data(count);
  for (T& value : data) {
    const float x = (random() % 2 == 0 ? 1 : -1) * std::exp2(exponent(random));
    if constexpr (std::is_same_v<T, float16>) {
      value = ToFloat16(x);
    } else if constexpr (std::is_same_v<T, bfloat16>) {
      value = ToBFloat16(x);
    } else if constexpr (std::is_integral_v<T>) {
      value = static_cast<T>(random());
    } else {
      value = static_cast<T>(x);
    }
  }
  return data;
}

template <typename T>
bool SameBits(const std::vector<T>& a, const std::vector<T>& b, int64_t count) {
  return std::memcmp(a.data(), b.data(), static_cast<size_t>(count) * sizeof(T)) == 0;
}

template <typename T>
void CompareSums(Communicator* memory, Communicator* tcp, int64_t count) {
  const std::string name = MakeString(TypeName<T>::Get(), " x ", count);
  const TypeMeta type = TypeMeta::Make<T>();
  const std::vector<T> data = RandomData<T>(count, static_cast<unsigned>(count) + memory->rank());
  std::vector<T> ours = data, theirs = data;
  memory->Allreduce(name, ours.data(), count, type);
  tcp->Allreduce(name, theirs.data(), count, type);
  EXPECT_TRUE(SameBits(ours, theirs, count)) << "Allreduce " << name << " of " << memory->size();

  // Parts of random sizes, some of them empty, the same on all shards.
  const int size = memory->size();
  std::mt19937 random(static_cast<unsigned>(count));
  std::vector<int64_t> ends = {count}, counts;
  for (int i = 1; i < size; ++i) ends.push_back(static_cast<int64_t>(random() % (count + 1)));
  std::sort(ends.begin(), ends.end());
  for (int i = 0; i < size; ++i) counts.push_back(ends[i] - (i == 0 ? 0 : ends[i - 1]));
  ours = theirs = data;
  memory->ReduceScatter(name, ours.data(), counts, type);
  tcp->ReduceScatter(name, theirs.data(), counts, type);
  EXPECT_TRUE(SameBits(ours, theirs, counts[memory->rank()])) << "ReduceScatter " << name;
}

class SharedMemorySumTest : public ::testing::TestWithParam<int> {};

TEST_P(SharedMemorySumTest, HasTheBitsOfTcp) {
  const int size = GetParam();
  std::mt19937 random(static_cast<unsigned>(size));
  // Around the limits of one step (16 KiB) and of the orders (256 KiB and 1 MiB), and odd sizes.
  std::vector<int64_t> counts = {1, 2, 3, 7, 4096, 4097, 65536, 65537, 262144, 262145, 1300001};
  for (int i = 0; i < 4; ++i) counts.push_back(1 + random() % 600000);
  RunWithBoth(size, [&](Communicator* memory, Communicator* tcp) {
    for (const int64_t count : counts) {
      CompareSums<float>(memory, tcp, count);
      CompareSums<bfloat16>(memory, tcp, count);
    }
    for (const int64_t count : {5, 8193, 70001, 600001}) {
      CompareSums<float16>(memory, tcp, count);
      CompareSums<double>(memory, tcp, count);
      CompareSums<int32_t>(memory, tcp, count);
      CompareSums<int64_t>(memory, tcp, count);
      CompareSums<uint8_t>(memory, tcp, count);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Sizes, SharedMemorySumTest, ::testing::Range(2, 9));

// Small and large operations, of all kinds, in a random order: each must find its buffers free.
TEST(SharedMemoryTest, OperationsInAnyOrder) {
  for (const int size : {2, 3, 5}) {
    RunWithBoth(size, [&](Communicator* memory, Communicator*) {
      std::mt19937 random(7);  // the same order on all shards
      const int rank = memory->rank();
      for (int step = 0; step < 300; ++step) {
        const int64_t count = 1 + random() % (random() % 2 == 0 ? 100 : 200000);
        const int root = static_cast<int>(random() % size);
        std::vector<int32_t> data(count, rank + step);
        switch (random() % 4) {
          case 0:
            memory->Broadcast("b", data.data(), count, TypeMeta::Make<int32_t>(), root);
            EXPECT_EQ(data, std::vector<int32_t>(count, root + step));
            break;
          case 1:
            memory->Allreduce("a", data.data(), count, TypeMeta::Make<int32_t>());
            EXPECT_EQ(data, std::vector<int32_t>(count, size * step + size * (size - 1) / 2));
            break;
          case 2: {
            std::vector<int32_t> all(count * size);
            memory->Allgather("g", data.data(), all.data(), count, TypeMeta::Make<int32_t>());
            for (int i = 0; i < size; ++i) {
              EXPECT_EQ(
                  std::count(all.begin() + i * count, all.begin() + (i + 1) * count, i + step),
                  count);
            }
            break;
          }
          default:
            memory->Barrier("s");
        }
      }
    });
  }
}

TEST(SharedMemoryTest, ProcessesShareAndLeaveNothing) {
  const auto named_files = [] {
    std::ostringstream names;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm")) {
      names << entry.path().filename() << " ";
    }
    return names.str();
  };
  const std::string before = named_files();
  TemporaryDirectory directory;
  const auto results = RunShards(3, [&](int rank) {
    auto store = NewFileStore(directory.path(), "run");
    auto world = ConnectShards(store.get(), WorldOptions("shared_memory", rank, 3));
    std::vector<double> data(3 << 20, rank + 0.5);
    world->Allreduce("x", data.data(), 3 << 20, TypeMeta::Make<double>());
    for (const double x : data) CAFFE_ENFORCE_EQ(x, 4.5);
    if (rank == 2) raise(SIGKILL);
    try {
      world->Barrier("after the death");
    } catch (const PeerLost& error) {
      return MakeString(error.rank(), " ", error.what());
    }
    return std::string("no error");
  });
  EXPECT_EQ(results[2].status, 128 + SIGKILL);
  for (const int survivor : {0, 1}) {
    EXPECT_EQ(
        results[survivor].message.rfind("2 agreeing on Barrier after the death: rank 2 (host ", 0),
        0u)
        << results[survivor].message;
    EXPECT_HAS(results[survivor].message, ", shared memory) is lost: ");
  }
  EXPECT_EQ(named_files(), before);
}

// Makes a system call of this process fail, as a container's profile may.
void Forbid(int call) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program = {std::size(filter), filter};
  CAFFE_ENFORCE_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  CAFFE_ENFORCE_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program), 0);
}

// Runs three shards whose communicators have these transports, after prepare(rank). Each returns
// its sum and the log, or its error.
std::vector<ShardResult> Connect(const std::vector<std::string>& transports,
                                 const std::function<void(int rank)>& prepare) {
  TemporaryDirectory directory;
  const int size = static_cast<int>(transports.size());
  return RunShards(size, [&](int rank) {
    const std::string log = MakeString(directory.path(), "/log", rank);
    dup2(open(log.c_str(), O_CREAT | O_WRONLY, 0600), STDERR_FILENO);
    prepare(rank);
    auto store = NewFileStore(directory.path(), "run");
    CommunicatorOptions options = WorldOptions(transports[rank], rank, size, 5000);
    options.name = "world";
    auto world = ConnectShards(store.get(), options);
    float x = static_cast<float>(rank);
    world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
    std::ostringstream text;
    text << x << " " << std::ifstream(log).rdbuf();
    return text.str();
  });
}

TEST(SharedMemoryTest, AutoSaysWhatItTakes) {
  const auto results = Connect({"auto", "auto", "auto"}, [](int) {});
  for (const ShardResult& result : results) EXPECT_EQ(result.message.rfind("3 ", 0), 0u);
  EXPECT_HAS(results[0].message, "common world world: 3 shards exchange through shared memory");
}

TEST(SharedMemoryTest, WithoutMemoryAutoTakesTcpAndSaysWhy) {
  for (const auto& [call, text] :
       {std::pair<int, const char*>{SYS_memfd_create, "rank 0: memfd_create: "},
        {SYS_fallocate, "rank 0: cannot allocate "}}) {
    const auto results = Connect({"auto", "auto", "auto"}, [call = call](int rank) {
      if (rank == 0) Forbid(call);
    });
    for (const ShardResult& result : results) {
      EXPECT_EQ(result.message.rfind("3 ", 0), 0u) << result.message;
      EXPECT_HAS(result.message, "common world world uses TCP within this machine");
      EXPECT_HAS(result.message, text);
    }
  }
}

TEST(SharedMemoryTest, DemandedMemoryIsAnErrorWithoutIt) {
  const auto results = Connect({"shared_memory", "shared_memory"}, [](int rank) {
    if (rank == 0) Forbid(SYS_memfd_create);
  });
  for (const ShardResult& result : results) {
    EXPECT_EQ(result.status, 1);
    EXPECT_HAS(result.message,
               "common world world cannot use shared memory: rank 0: memfd_create: ");
    EXPECT_HAS(result.message, "use --distributed_transport auto or tcp");
  }
}

TEST(SharedMemoryTest, TcpOnOneShardIsTcpOnAll) {
  const auto results = Connect({"auto", "tcp", "auto"}, [](int) {});
  for (const int rank : {0, 2}) {
    EXPECT_EQ(results[rank].message.rfind("3 ", 0), 0u) << results[rank].message;
    EXPECT_HAS(results[rank].message, "rank 1: it asks for transport tcp");
  }
  EXPECT_EQ(results[1].message.rfind("3 ", 0), 0u) << results[1].message;
}

// The names of the sockets at which shards wait now.
std::vector<std::string> ListeningSockets() {
  std::vector<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    const size_t name = line.find("@doppio-");
    if (name != std::string::npos) names.push_back(line.substr(name + 1));
  }
  return names;
}

// Another process of this user connects to every shard while they attach, and sends junk or
// nothing.
TEST(SharedMemoryTest, StrangersAreDropped) {
  std::atomic<int> connected{0};
  // Ends with the test, also with one that a failure to connect ends.
  std::jthread stranger([&](const std::stop_token& done) {
    std::vector<int> silent;
    while (!done.stop_requested()) {
      for (const std::string& name : ListeningSockets()) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        std::memcpy(address.sun_path + 1, name.data(), name.size());
        const auto length =
            static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
        const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
        if (connect(fd, reinterpret_cast<sockaddr*>(&address), length) == 0) {
          ++connected;
          const char junk[20] = "not a greeting";
          if (connected % 2 == 0) send(fd, junk, sizeof junk, MSG_NOSIGNAL);
        }
        silent.push_back(fd);
      }
    }
    for (const int fd : silent) close(fd);
  });
  const StoreFactory stores = MemoryStores();
  for (int round = 0; round < 20 || (connected == 0 && round < 500); ++round) {
    RunThreads(3, [&](int rank) {
      auto store = stores(MakeString("run", round));
      auto world = ConnectShards(store.get(), WorldOptions("shared_memory", rank, 3));
      float x = 1;
      world->Allreduce("x", &x, 1, TypeMeta::Make<float>());
      EXPECT_EQ(x, 3);
    });
  }
  stranger.request_stop();
  stranger.join();
  EXPECT_GT(connected, 0);
}

// Two shards wait for the third, which is frozen: both name it.
TEST(SharedMemoryTest, TheFrozenShardIsBlamedByAll) {
  TemporaryDirectory directory;
  const auto results = RunShards(
      3,
      [&](int rank) {
        auto store = NewFileStore(directory.path(), "run");
        auto world = ConnectShards(store.get(), WorldOptions("shared_memory", rank, 3, 1500));
        if (rank == 1) raise(SIGSTOP);
        try {
          world->Barrier("b");
        } catch (const IoError& error) {
          return MakeString(SuspectOf(error), " ", error.what());
        }
        return std::string("no error");
      },
      8);
  for (const int waiting : {0, 2}) {
    EXPECT_EQ(results[waiting].message.rfind("1 agreeing on Barrier b: rank 1 (host ", 0), 0u)
        << results[waiting].message;
  }
}

}  // namespace
}  // namespace caffe2::testing
