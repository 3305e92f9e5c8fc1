#include "distributed/parameter_server.h"

#include <algorithm>

#include "caffe2/core/logging.h"

namespace caffe2 {
namespace {

constexpr int kWorkerRank = 0, kServerRank = 1;

enum RequestKind : int32_t { kPull, kStart, kStep, kFinish };

void SendBytes(Communicator* world, const char* name, void* data, size_t bytes, int from) {
  world->Broadcast(name, data, static_cast<int64_t>(bytes), TypeMeta::Make<uint8_t>(), from);
}

void SendFloats(Communicator* world, const char* name, float* data, int64_t count, int from) {
  world->Broadcast(name, data, count, TypeMeta::Make<float>(), from);
}

bool CarriesFloats(int32_t kind) { return kind == kStart || kind == kStep; }

}  // namespace

struct ParameterRequest {
  int32_t kind = kPull;
  int32_t signal = 0;
  int64_t iteration = 0;
};

ParameterServer::ParameterServer(ParameterShard* shard, const ParameterServerOptions& options)
    : shard_(shard),
      options_(options),
      workers_(static_cast<size_t>(std::max(options.num_workers, 0))),
      mean_(options.max_staleness == 0 ? static_cast<size_t>(shard->size()) : 0) {
  CAFFE_ENFORCE(options.num_workers > 0, "num_workers must be positive, found ",
                options.num_workers);
  CAFFE_ENFORCE(options.max_staleness >= 0, "max_staleness must not be negative, found ",
                options.max_staleness);
}

template <typename Ready>
void ParameterServer::WaitUntil(std::unique_lock<std::mutex>* lock, const Ready& ready) {
  changed_.wait(*lock, [&] { return abort_ || ready(); });
  if (abort_) std::rethrow_exception(abort_);
}

int ParameterServer::FirstLive() const {
  for (size_t w = 0; w < workers_.size(); ++w) {
    if (workers_[w].live) return static_cast<int>(w);
  }
  return -1;
}

bool ParameterServer::AllHaveFinished() const {
  return std::all_of(workers_.begin(), workers_.end(),
                     [](const Worker& worker) { return !worker.live || worker.finished; });
}

void ParameterServer::Start(const float* values, int64_t iteration) {
  const std::lock_guard<std::mutex> lock(mutex_);
  shard_->Set(values, iteration);
  started_ = true;
  changed_.notify_all();
}

void ParameterServer::Apply(const float* gradients) {
  learning_rate_ = shard_->Update(gradients);
  ++updates_;
}

void ParameterServer::ApplyIfComplete() {
  if (abort_) return;  // gradients that waited may be gone
  std::vector<const float*> gradients;
  for (const Worker& worker : workers_) {
    if (!worker.live || worker.finished) continue;
    if (worker.waiting == nullptr) return;
    gradients.push_back(worker.waiting);
  }
  if (gradients.empty()) return;
  std::copy(gradients[0], gradients[0] + mean_.size(), mean_.begin());
  for (size_t g = 1; g < gradients.size(); ++g) {
    for (size_t i = 0; i < mean_.size(); ++i) mean_[i] += gradients[g][i];
  }
  if (gradients.size() > 1) {
    const float scale = 1.f / static_cast<float>(gradients.size());
    for (float& value : mean_) value *= scale;
  }
  Apply(mean_.data());
  for (Worker& worker : workers_) worker.waiting = nullptr;
  changed_.notify_all();
}

bool ParameterServer::MayContinue(int worker) const {
  const Worker& self = workers_[static_cast<size_t>(worker)];
  if (!self.live) return true;  // given up while its gradient arrived: nobody applies it
  if (options_.max_staleness == 0) return self.waiting == nullptr;
  return std::all_of(workers_.begin(), workers_.end(), [&](const Worker& other) {
    return !other.live || other.finished || self.steps - other.steps <= options_.max_staleness;
  });
}

void ParameterServer::Step(int worker, const float* gradients) {
  std::unique_lock<std::mutex> lock(mutex_);
  CAFFE_ENFORCE(started_, "worker ", worker, " sends a gradient before it got parameters");
  Worker& self = workers_[static_cast<size_t>(worker)];
  self.staleness = updates_ - self.pulled;
  staleness_.push_back(self.staleness);
  if (staleness_.size() > kStalenessWindow) staleness_.pop_front();
  largest_staleness_ = std::max(largest_staleness_, self.staleness);
  ++self.steps;
  if (options_.max_staleness == 0) {
    self.waiting = gradients;
    ApplyIfComplete();
  } else {
    Apply(gradients);
    changed_.notify_all();
  }
  WaitUntil(&lock, [&] { return MayContinue(worker); });
}

void ParameterServer::Serve(int worker, Communicator* world) {
  Worker& self = workers_.at(static_cast<size_t>(worker));
  std::vector<float> values(static_cast<size_t>(shard_->size()));
  for (bool finished = false; !finished;) {
    ParameterRequest request;
    SendBytes(world, "request", &request, sizeof request, kWorkerRank);
    if (CarriesFloats(request.kind)) {
      SendFloats(world, "floats", values.data(), shard_->size(), kWorkerRank);
    }
    if (request.kind == kStart) Start(values.data(), request.iteration);
    if (request.kind == kStep) Step(worker, values.data());
    finished = request.kind == kFinish;
    ParameterReply reply;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      self.finished = finished;
      if (finished) {
        ApplyIfComplete();
        changed_.notify_all();
        WaitUntil(&lock, [&] { return AllHaveFinished(); });
      }
      WaitUntil(&lock, [&] { return started_; });
      signal_ = std::max(signal_, request.signal);
      shard_->Get(values.data());
      self.pulled = updates_;
      reply.updates = updates_;
      reply.staleness = self.staleness;
      reply.signal = signal_;
      reply.is_chief = FirstLive() == worker;
      reply.learning_rate = learning_rate_;
    }
    SendBytes(world, "reply", &reply, sizeof reply, kServerRank);
    SendFloats(world, "values", values.data(), shard_->size(), kServerRank);
  }
}

void ParameterServer::RemoveWorker(int worker) {
  const std::lock_guard<std::mutex> lock(mutex_);
  Worker& lost = workers_.at(static_cast<size_t>(worker));
  lost.live = false;
  lost.waiting = nullptr;
  if (!started_ && worker == 0) {
    abort_ = std::make_exception_ptr(
        NoFirstParameters("worker 0 was lost before it gave the first parameters"));
  }
  ApplyIfComplete();
  changed_.notify_all();
}

void ParameterServer::Abort(const std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!abort_) abort_ = std::make_exception_ptr(IoError(reason));
  changed_.notify_all();
}

void ParameterServer::Stop(int signal) {
  const std::lock_guard<std::mutex> lock(mutex_);
  signal_ = std::max(signal_, signal);
}

bool ParameterServer::started() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return started_;
}

int ParameterServer::signal() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return signal_;
}

ServerProgress ParameterServer::progress() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  ServerProgress progress;
  progress.updates = updates_;
  progress.learning_rate = learning_rate_;
  for (const Worker& worker : workers_) {
    progress.finished_workers += worker.live && worker.finished;
    progress.live_workers += worker.live && !worker.finished;
  }
  for (const int64_t each : staleness_) {
    progress.mean_staleness += static_cast<double>(each) / static_cast<double>(staleness_.size());
  }
  progress.largest_staleness = largest_staleness_;
  return progress;
}

ParameterClient::ParameterClient(std::vector<std::shared_ptr<Communicator>> worlds,
                                 const std::vector<int64_t>& sizes)
    : worlds_(std::move(worlds)) {
  CAFFE_ENFORCE(worlds_.size() == sizes.size(), "there must be one size for each of the ",
                worlds_.size(), " servers, found ", sizes.size());
  for (const int64_t size : sizes) {
    gradients_.emplace_back(static_cast<size_t>(size));
    values_.emplace_back(static_cast<size_t>(size));
  }
}

// Calls body(number, world). Errors blame the server instead of its rank in the world.
template <typename Body>
void ParameterClient::ForEachServer(const Body& body) {
  for (size_t s = 0; s < worlds_.size(); ++s) {
    try {
      body(s, worlds_[s].get());
    } catch (const std::exception& error) {
      if (!IsPeerError(error)) throw;
      throw PeerLost(error.what(), SuspectOf(error) < 0 ? -1 : static_cast<int>(s));
    }
  }
}

ParameterReply ParameterClient::Exchange(const ParameterRequest& request) {
  ForEachServer([&](size_t s, Communicator* world) {
    ParameterRequest copy = request;
    SendBytes(world, "request", &copy, sizeof copy, kWorkerRank);
    if (!CarriesFloats(request.kind)) return;
    std::vector<float>& floats = request.kind == kStart ? values_[s] : gradients_[s];
    SendFloats(world, "floats", floats.data(), static_cast<int64_t>(floats.size()), kWorkerRank);
  });
  ParameterReply result;
  ForEachServer([&](size_t s, Communicator* world) {
    ParameterReply reply;
    SendBytes(world, "reply", &reply, sizeof reply, kServerRank);
    SendFloats(world, "values", values_[s].data(), static_cast<int64_t>(values_[s].size()),
               kServerRank);
    if (s == 0) result = reply;
    result.staleness = std::max(result.staleness, reply.staleness);
    result.signal = std::max(result.signal, reply.signal);
  });
  return result;
}

ParameterReply ParameterClient::Start(bool gives, int64_t iteration) {
  return Exchange({.kind = gives ? kStart : kPull, .iteration = iteration});
}

ParameterReply ParameterClient::Step(int signal) {
  return Exchange({.kind = kStep, .signal = signal});
}

ParameterReply ParameterClient::Finish() { return Exchange({.kind = kFinish}); }

}  // namespace caffe2
