// A worker's exchange with the parameter servers of its run.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "distributed/parameter_server.h"
#include "train/server_nets.h"
#include "train/shard_run.h"

namespace caffe2 {

// Makes the common world of a worker (rank 0) and a server (rank 1); both must call it. Throws like
// ConnectGloo, with the number of the other process in the run. Later waits in this world have no
// time limit: the membership finds dead peers.
std::shared_ptr<Communicator> ConnectPair(const ShardOptions& shards, int worker, int server,
                                          RunMembership* membership);

// What a process that was asked to stop says that it waited for.
constexpr char kFirstParameters[] = "the first parameters, which worker 0 sends";

// While it lives, a worker that waits in `worlds` for the first parameters obeys a signal: the
// worlds are aborted, as StoreHandler::CheckWait says.
class FirstParametersWatch {
 public:
  FirstParametersWatch(RunMembership* membership,
                       std::vector<std::shared_ptr<Communicator>> worlds);
  ~FirstParametersWatch();
  FirstParametersWatch(const FirstParametersWatch&) = delete;
  FirstParametersWatch& operator=(const FirstParametersWatch&) = delete;

 private:
  void Watch();

  const std::unique_ptr<StoreHandler> store_;
  const std::vector<std::shared_ptr<Communicator>> worlds_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;  // guarded by mutex_
  std::thread thread_;
};

// Moves gradients and parameters between the workspace of a worker and the servers. Not
// thread-safe. Errors of a connection are PeerLost with the number of the server in the run.
class ParameterWorker {
 public:
  // Connects to all servers. Worker 0 sends them its parameters, and all workers receive these. All
  // arguments must outlive this. Throws PeerLost if the process is asked to stop meanwhile.
  ParameterWorker(const TrainOptions& options, const TrainNets& nets, Workspace* ws, ShardRun* run);

  // Sends the gradients of the training net and writes new parameters to all replicas. Also sets
  // the learning rate blob, and whether this worker writes files (ShardRun::SetWriter). `signal` is
  // the number of a signal that this process received, or 0. Returns the largest of all workers.
  int Step(int signal);
  // Waits until all workers have finished or are lost, and gets the last parameters. Only the first
  // call has an effect.
  void Finish();

  // The staleness of the last gradient: the number of updates by other workers between the
  // parameters from which it was computed and the update with it.
  int64_t staleness() const { return staleness_; }

 private:
  template <typename Call>
  ParameterReply Exchange(const Call& call);
  void CopyGradients();
  void CopyParameters(bool to_servers);

  const TrainOptions& options_;
  const TrainNets& nets_;
  Workspace* ws_;
  ShardRun* run_;
  const std::vector<ServerPart> parts_;
  std::unique_ptr<ParameterClient> client_;
  bool finished_ = false;
  int64_t staleness_ = 0;
};

}  // namespace caffe2
