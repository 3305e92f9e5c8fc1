#include "train/serve_parameters.h"

#include <chrono>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "caffe2/core/logging.h"
#include "train/input.h"
#include "train/parameter_worker.h"
#include "train/server_nets.h"
#include "train/stopped_early.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

constexpr milliseconds kLookEvery{200};
constexpr std::chrono::seconds kLogEvery{10};

RecordKind TrainingKind(const DataOptions& data) {
  return data.train_data == kSyntheticData ? RecordKind::kDatum
                                           : RecordKindOf(data.db_type, data.train_data);
}

class ServerProcess {
 public:
  explicit ServerProcess(const TrainOptions& options)
      : options_(options),
        nets_(BuildTrainNets(options, TrainingKind(options.data))),
        model_(
            nets_,
            DivideParameters(nets_, options.shards.num_servers).at(static_cast<size_t>(Index()))),
        server_(&model_, {options.shards.num_shards, options.shards.max_staleness}),
        worlds_(static_cast<size_t>(options.shards.num_shards)),
        lost_(worlds_.size()),
        running_(options.shards.num_shards) {}

  int Run(const std::function<int()>& stop);

 private:
  int Index() const { return options_.shards.shard_id - options_.shards.num_shards; }
  void ServeWorker(int worker);
  void Connect(int worker);
  // The heartbeat thread found the worker dead: wakes the thread that serves it.
  void OnLost(int worker, const std::string& line);
  void WaitForWorkers(const std::function<int()>& stop);
  void CheckFirstParameters(StoreHandler* store);
  void Publish(bool log);
  bool HasError() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return error_ != nullptr;
  }

  const TrainOptions& options_;
  const TrainNets nets_;
  ServerModel model_;
  ParameterServer server_;
  Workspace ws_;
  std::unique_ptr<ShardRun> run_;
  int64_t logged_updates_ = 0;

  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Communicator>> worlds_;  // by worker; null before it has connected
  std::vector<std::string> lost_;  // by worker: why it was given up; empty: it was not
  int running_;                    // threads that serve workers
  std::exception_ptr error_;       // of this server, or NoFirstParameters
};

void ServerProcess::OnLost(int worker, const std::string& line) {
  server_.RemoveWorker(worker);
  const std::lock_guard<std::mutex> lock(mutex_);
  lost_[static_cast<size_t>(worker)] = line;
  if (const auto& world = worlds_[static_cast<size_t>(worker)]) world->Abort(line);
}

void ServerProcess::Connect(int worker) {
  auto world = ConnectPair(options_.shards, worker, Index(), run_->membership());
  const std::lock_guard<std::mutex> lock(mutex_);
  // A worker that was given up while it connected may still live, and no wait for it has a limit.
  const std::string& line = lost_[static_cast<size_t>(worker)];
  if (!line.empty()) world->Abort(line);
  worlds_[static_cast<size_t>(worker)] = std::move(world);
}

void ServerProcess::ServeWorker(int worker) {
  try {
    Connect(worker);
    server_.Serve(worker, worlds_[static_cast<size_t>(worker)].get());
  } catch (const std::exception& error) {
    const bool is_lost = IsPeerError(error);
    if (is_lost && !run_->gave_up() && run_->membership()->Failure().empty()) {
      LOG(WARNING) << run_->membership()->DescribeShard(worker)
                   << " is lost, the others go on: " << error.what();
    }
    if (is_lost) server_.RemoveWorker(worker);
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!is_lost && !error_) error_ = std::current_exception();
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  --running_;
  changed_.notify_all();
}

void ServerProcess::Publish(bool log) {
  const ServerProgress progress = server_.progress();
  ShardStatus status;
  status.state = "serving";
  status.iteration = progress.updates;
  status.more = {{"workers", MakeString(progress.live_workers)},
                 {"learning_rate", MakeString(progress.learning_rate)},
                 {"staleness", MakeString(progress.mean_staleness)},
                 {"max_staleness_seen", MakeString(progress.largest_staleness)}};
  run_->UpdateStatus(status);
  if (!log || progress.updates == logged_updates_) return;
  logged_updates_ = progress.updates;
  LOG(INFO) << "Server " << Index() << ": " << progress.updates << " updates, learning rate "
            << progress.learning_rate << ", staleness " << progress.mean_staleness << " (at most "
            << progress.largest_staleness << "), " << progress.live_workers << " workers";
}

// Only replies tell workers about a signal, and there are none yet: gives all workers up instead.
void ServerProcess::CheckFirstParameters(StoreHandler* store) {
  try {
    store->CheckWait(kFirstParameters);
  } catch (const PeerLost& error) {
    // The report comes first: a worker whose connection ends blames this server for it.
    run_->ReportFailure(error);
    for (int worker = 0; worker < options_.shards.num_shards; ++worker) {
      OnLost(worker, error.what());
    }
  }
}

void ServerProcess::WaitForWorkers(const std::function<int()>& stop) {
  const std::unique_ptr<StoreHandler> store = run_->membership()->MakeStore();
  auto next_log = Clock::now() + kLogEvery;
  std::unique_lock<std::mutex> lock(mutex_);
  while (!changed_.wait_for(lock, kLookEvery, [this] { return running_ == 0 || error_; })) {
    lock.unlock();
    const bool log = Clock::now() >= next_log;
    if (log) next_log += kLogEvery;
    Publish(log);
    if (stop) server_.Stop(stop());
    if (!server_.started()) CheckFirstParameters(store.get());
    lock.lock();
  }
}

int ServerProcess::Run(const std::function<int()>& stop) {
  run_ = std::make_unique<ShardRun>(
      options_, &ws_, [this](int worker, const std::string& line) { OnLost(worker, line); });
  std::vector<std::thread> threads;
  try {
    for (int worker = 0; worker < options_.shards.num_shards; ++worker) {
      threads.emplace_back([this, worker] { ServeWorker(worker); });
    }
    WaitForWorkers(stop);
  } catch (const std::exception&) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!error_) error_ = std::current_exception();
  }
  if (HasError()) {
    server_.Abort("the server has failed");
    AbortCommunicators("the server has failed");
  }
  for (std::thread& thread : threads) thread.join();
  try {
    if (error_) std::rethrow_exception(error_);
    run_->ThrowIfFailed();
    Publish(/*log=*/true);
    if (server_.progress().finished_workers == 0) {
      ThrowIoError(ExitCode::kPeerLost, "all workers are lost");
    }
  } catch (const std::exception& error) {
    const bool is_own = error_ && dynamic_cast<const NoFirstParameters*>(&error) == nullptr;
    if (run_->gave_up() && !is_own) {
      // It follows from the workers that this server gave up, or another server ended the run.
      throw StoppedEarly(stop(), run_->ReportFailure(PeerLost(error.what(), -1)));
    }
    ThrowIoError(ExitCodeOf(error), run_->ReportFailure(error));
  }
  run_->Leave();
  return server_.signal();
}

}  // namespace

int ServeParameters(const TrainOptions& options, const std::function<int()>& stop) {
  const TrainOptions prepared = Prepare(options, stop);
  ServerProcess process(prepared);
  try {
    return process.Run(stop);
  } catch (const StoppedEarly& stopped) {
    LOG(INFO) << stopped.what();
    return stopped.signal();
  }
}

}  // namespace caffe2
