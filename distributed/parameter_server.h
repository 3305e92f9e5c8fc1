// Parameter servers: workers send gradients to servers and get parameters back, each at its own
// speed (docs/design/async.md).
//
// Every worker has a common world of two with every server (rank 0: the worker), so that a process
// that dies breaks only its own connections. Messages are broadcasts in these worlds.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "distributed/collective.h"

namespace caffe2 {

// The parameters of one server, as one array of floats. The server calls size() from any thread at
// any time, and the other methods from one thread at a time.
class ParameterShard {
 public:
  virtual ~ParameterShard() = default;
  virtual int64_t size() const = 0;
  // Sets all parameters, and the number of updates that the optimizer has done.
  virtual void Set(const float* values, int64_t iteration) = 0;
  virtual void Get(float* values) const = 0;
  // Applies one update of the optimizer. Returns the learning rate.
  virtual float Update(const float* gradients) = 0;
};

struct ParameterServerOptions {
  int num_workers = 1;
  // 0: in each step, one update with the mean gradient of all live workers, in their order. N > 0:
  // each gradient is an update of its own, and a worker may be at most N steps ahead of the slowest
  // live worker.
  int max_staleness = 0;
};

// How far the workers of a server have come.
struct ServerProgress {
  int64_t updates = 0;
  int live_workers = 0;  // neither lost nor finished
  int finished_workers = 0;
  // The staleness of a gradient is the number of updates between sending its parameters to the
  // worker and receiving it. The mean is over the last 1000 gradients, the largest over all.
  double mean_staleness = 0;
  int64_t largest_staleness = 0;
  float learning_rate = 0;
};

// Worker 0 was lost before it gave the first parameters, so the server can serve no worker.
class NoFirstParameters : public IoError {
 public:
  using IoError::IoError;
};

// Thread-safe.
class ParameterServer {
 public:
  static constexpr size_t kStalenessWindow = 1000;

  // `shard` must outlive the server. Throws EnforceNotMet unless num_workers is positive and
  // max_staleness at least 0.
  ParameterServer(ParameterShard* shard, const ParameterServerOptions& options);

  // Serves one worker, in a thread of its own, until it has finished and all others have finished
  // or are lost. Throws like Communicator does; then call RemoveWorker(). Throws IoError if Abort()
  // is called while it waits for other workers, and EnforceNotMet for a gradient before the first
  // parameters. Other exceptions come from the ParameterShard.
  void Serve(int worker, Communicator* world);
  // Tells the server that the worker is lost: no call waits for it any more. The caller also aborts
  // the worker's world, which ends its Serve(). If worker 0 is lost before it has given the first
  // parameters, all waits throw NoFirstParameters.
  void RemoveWorker(int worker);
  // Ends all waits of Serve() with IoError(reason).
  void Abort(const std::string& reason);

  // Tells all workers, with their next parameters, that this signal ends the run. 0 does nothing.
  void Stop(int signal);

  ServerProgress progress() const;
  bool started() const;  // worker 0 has given the first parameters
  int signal() const;    // the largest signal from a worker or Stop(); 0: none

 private:
  struct Worker {
    bool live = true, finished = false;
    int64_t steps = 0;               // gradients received
    int64_t pulled = 0;              // updates when it last got parameters
    int64_t staleness = 0;           // of its last gradient
    const float* waiting = nullptr;  // its gradient, which waits for the others (max_staleness 0)
  };

  void Start(const float* values, int64_t iteration);
  void Step(int worker, const float* gradients);
  void Apply(const float* gradients);
  // With max_staleness 0: applies the mean gradient once all live workers have sent theirs.
  void ApplyIfComplete();
  bool MayContinue(int worker) const;
  bool AllHaveFinished() const;
  int FirstLive() const;  // -1: none
  template <typename Ready>
  void WaitUntil(std::unique_lock<std::mutex>* lock, const Ready& ready);

  ParameterShard* const shard_;
  const ParameterServerOptions options_;
  mutable std::mutex mutex_;  // guards everything below, and the shard
  std::condition_variable changed_;
  std::vector<Worker> workers_;
  std::vector<float> mean_;
  std::exception_ptr abort_;  // what all waits throw
  bool started_ = false;
  int64_t updates_ = 0;
  int signal_ = 0;
  float learning_rate_ = 0;
  std::deque<int64_t> staleness_;  // of the last gradients
  int64_t largest_staleness_ = 0;
};

// What a server tells a worker together with new parameters.
struct ParameterReply {
  int64_t updates = 0;    // of the first server
  int64_t staleness = 0;  // of this worker's last gradient: the largest over the servers
  int32_t signal = 0;     // ParameterServer::signal(): if not 0, all workers end the run
  int32_t is_chief = 0;   // this is the first worker that is not lost
  float learning_rate = 0;
};

struct ParameterRequest;

// A worker's connections to all servers. Not thread-safe. Methods throw like Communicator, but
// PeerLost instead of PeerTimeout; its rank() is the index of the server, or -1.
class ParameterClient {
 public:
  // World s leads to server s, which holds sizes[s] floats.
  ParameterClient(std::vector<std::shared_ptr<Communicator>> worlds,
                  const std::vector<int64_t>& sizes);

  // This worker's buffer for the gradients or parameters of server s.
  float* gradients(int server) { return gradients_[static_cast<size_t>(server)].data(); }
  float* values(int server) { return values_[static_cast<size_t>(server)].data(); }
  int num_servers() const { return static_cast<int>(worlds_.size()); }

  // Gets the first parameters in values(). Worker 0 sets `gives`: it has put the parameters into
  // values() itself and passes the number of updates that they have had.
  ParameterReply Start(bool gives, int64_t iteration);
  // Sends gradients() and gets new values(). `signal` is 0 or the number of a signal that is to end
  // the run.
  ParameterReply Step(int signal);
  // Waits until all workers have finished or are lost; gets the last values().
  ParameterReply Finish();

 private:
  template <typename Body>
  void ForEachServer(const Body& body);
  ParameterReply Exchange(const ParameterRequest& request);

  const std::vector<std::shared_ptr<Communicator>> worlds_;
  std::vector<std::vector<float>> gradients_, values_;
};

}  // namespace caffe2
