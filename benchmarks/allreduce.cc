// Allreduce between processes of this machine, beside Gloo's own algorithms on the same
// connections' kind: microseconds (median over iterations; the slowest shard counts).
//
//   allreduce [--shards=2] [--kib=4,64,1024,25600,102400]

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
#include "distributed/gloo_communicator.h"

DEFINE_int32(shards, 2, "Number of processes");
DEFINE_string(kib, "4,64,1024,25600,102400", "Sizes of the buffers");

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
                                              const char* name) {
  caffe2::GlooOptions options;
  options.rank = rank;
  options.size = FLAGS_shards;
  options.name = name;
  options.interface = "127.0.0.1";
  return caffe2::ConnectGloo(store, options);
}

// Median time of `run`, of which each iteration starts together and ends with the slowest.
double Measure(caffe2::Communicator* control, size_t bytes, const std::function<void()>& run) {
  const int iterations = bytes <= (1 << 14) ? 400 : bytes <= (1 << 21) ? 100 : 15;
  std::vector<double> times;
  for (int i = 0; i < iterations + 3; ++i) {
    control->Barrier("start");
    const auto start = Clock::now();
    run();
    double time = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    std::vector<double> all(control->size());
    control->Allgather("time", &time, all.data(), 1, TypeMeta::Make<double>());
    if (i >= 3) times.push_back(*std::max_element(all.begin(), all.end()));
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
  return times[times.size() / 2];
}

void RunRank(int rank, const std::string& directory) {
  auto store = caffe2::NewFileStore(directory, "run");
  auto control = Connect(store.get(), rank, "control");
  auto world = Connect(store.get(), rank, "world");
  std::filesystem::create_directories(directory + "/gloo");
  gloo::rendezvous::FileStore gloo_store(directory + "/gloo");
  auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.1"));
  auto context = std::make_shared<gloo::rendezvous::Context>(rank, FLAGS_shards);
  context->connectFullMesh(gloo_store, device);

  std::stringstream sizes(FLAGS_kib);
  for (std::string size; std::getline(sizes, size, ',');) {
    const size_t bytes = std::stoul(size) << 10;
    std::vector<float> data(bytes / sizeof(float), 1.f);
    auto gloo_run = [&](gloo::AllreduceOptions::Algorithm algorithm) {
      return Measure(control.get(), bytes, [&] {
        gloo::AllreduceOptions options(context);
        options.setOutput(data.data(), data.size());
        options.setReduceFunction(Add);
        options.setAlgorithm(algorithm);
        gloo::allreduce(options);
        std::fill(data.begin(), data.begin() + 1, 1.f);
      });
    };
    const double ours = Measure(control.get(), bytes, [&] {
      world->Allreduce("data", data.data(), static_cast<int64_t>(data.size()),
                       TypeMeta::Make<float>());
    });
    const double ring = gloo_run(gloo::AllreduceOptions::Algorithm::RING);
    const double bcube = gloo_run(gloo::AllreduceOptions::Algorithm::BCUBE);
    if (rank == 0) {
      std::printf(
          "%2d shards %8s KiB: ours %9.1f us, Gloo ring %9.1f, bcube %9.1f; best/ours %.2f\n",
          FLAGS_shards, size.c_str(), ours, ring, bcube, std::min(ring, bcube) / ours);
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
