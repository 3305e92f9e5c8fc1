// Allreduce between processes of this machine through shared memory and through TCP, beside Gloo's
// own algorithms: microseconds (median over iterations; the slowest shard counts). All four take
// turns in each iteration, so that they see the same load of the machine.
//
//   allreduce [--shards=2] [--kib=1,4,64,1024,25600,102400] [--iterations=0]

#include <gflags/gflags.h>
#include <gloo/allreduce.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "distributed/file_store_handler.h"
#include "distributed/shared_memory_communicator.h"

DEFINE_int32(shards, 2, "Number of processes");
DEFINE_string(kib, "1,4,64,1024,25600,102400", "Sizes of the buffers");
DEFINE_int32(iterations, 0, "Iterations for each size; 0: by size");

namespace {

using caffe2::TypeMeta;
using Clock = std::chrono::steady_clock;

void Add(void* sum, const void* a, const void* b, size_t n) {
  auto* out = static_cast<float*>(sum);
  for (size_t i = 0; i < n; ++i) {
    out[i] = static_cast<const float*>(a)[i] + static_cast<const float*>(b)[i];
  }
}

std::shared_ptr<caffe2::Communicator> Connect(caffe2::StoreHandler* store, int rank,
                                              const char* name, const char* transport) {
  caffe2::CommunicatorOptions options;
  options.rank = rank;
  options.size = FLAGS_shards;
  options.name = name;
  options.transport = transport;
  options.interface = "127.0.0.1";
  return caffe2::ConnectShards(store, options);
}

// The median times of `runs`. A run starts on all shards together and ends with the slowest.
std::vector<double> Measure(caffe2::Communicator* control, size_t bytes,
                            const std::vector<std::function<void()>>& runs) {
  const int by_size = bytes <= (1 << 14) ? 400 : bytes <= (1 << 21) ? 100 : 15;
  const int iterations = FLAGS_iterations > 0 ? FLAGS_iterations : by_size;
  std::vector<std::vector<double>> times(runs.size());
  for (int i = 0; i < iterations + 3; ++i) {
    for (size_t k = 0; k < runs.size(); ++k) {
      control->Barrier("start");
      const auto start = Clock::now();
      runs[k]();
      double time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
      std::vector<double> all(control->size());
      control->Allgather("time", &time, all.data(), 1, TypeMeta::Make<double>());
      if (i >= 3) times[k].push_back(*std::max_element(all.begin(), all.end()));
    }
  }
  std::vector<double> medians;
  for (std::vector<double>& of_run : times) {
    std::nth_element(of_run.begin(), of_run.begin() + of_run.size() / 2, of_run.end());
    medians.push_back(of_run[of_run.size() / 2]);
  }
  return medians;
}

void RunRank(int rank, const std::string& directory) {
  auto store = caffe2::NewFileStore(directory, "run");
  auto control = Connect(store.get(), rank, "control", "shared_memory");
  auto memory = Connect(store.get(), rank, "memory", "shared_memory");
  auto tcp = Connect(store.get(), rank, "tcp", "tcp");
  std::filesystem::create_directories(directory + "/gloo");
  gloo::rendezvous::FileStore gloo_store(directory + "/gloo");
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, FLAGS_shards);
  context->connectFullMesh(gloo_store, device);

  std::stringstream sizes(FLAGS_kib);
  for (std::string size; std::getline(sizes, size, ',');) {
    const size_t bytes = std::stoul(size) << 10;
    std::vector<float> data(bytes / sizeof(float), 0.f);  // sums of zeros do not grow
    const auto gloo = [&](gloo::AllreduceOptions::Algorithm algorithm) {
      return [&, algorithm] {
        gloo::AllreduceOptions options(context);
        options.setOutput(data.data(), data.size());
        options.setReduceFunction(Add);
        options.setAlgorithm(algorithm);
        gloo::allreduce(options);
      };
    };
    const auto ours = [&](caffe2::Communicator* world) {
      return [&, world] {
        world->Allreduce("data", data.data(), static_cast<int64_t>(data.size()),
                         TypeMeta::Make<float>());
      };
    };
    const std::vector<double> times =
        Measure(control.get(), bytes,
                {ours(memory.get()), ours(tcp.get()), gloo(gloo::AllreduceOptions::Algorithm::RING),
                 gloo(gloo::AllreduceOptions::Algorithm::BCUBE)});
    if (rank == 0) {
      std::printf(
          "%2d shards %8s KiB: shared memory %9.1f us, tcp %9.1f, Gloo ring %9.1f, bcube %9.1f; "
          "best of Gloo / ours: %.2f, tcp %.2f\n",
          FLAGS_shards, size.c_str(), times[0], times[1], times[2], times[3],
          std::min(times[2], times[3]) / times[0], std::min(times[2], times[3]) / times[1]);
      std::fflush(stdout);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  std::string directory = std::filesystem::temp_directory_path() / "allreduce_XXXXXX";
  if (mkdtemp(directory.data()) == nullptr) return 1;
  std::vector<pid_t> children;
  for (int rank = 0; rank < FLAGS_shards; ++rank) {
    const pid_t pid = fork();
    if (pid == 0) {
      int status = 0;
      try {
        RunRank(rank, directory);
      } catch (const std::exception& e) {
        std::fprintf(stderr, "rank %d: %s\n", rank, e.what());
        status = 1;
      }
      _exit(status);
    }
    children.push_back(pid);
  }
  int failed = 0;
  for (const pid_t pid : children) {
    int status = 0;
    waitpid(pid, &status, 0);
    failed += status != 0;
  }
  std::filesystem::remove_all(directory);
  return failed == 0 ? 0 : 1;
}
