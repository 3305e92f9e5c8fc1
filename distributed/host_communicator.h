// The common base of the communicators of host memory: the operation in progress with its time
// limit, and its end when a shard is lost.
#pragma once

#include <atomic>
#include <mutex>
#include <string>

#include "distributed/collective.h"
#include "distributed/communicator_options.h"

namespace caffe2 {

// A derived class calls Register() at the end of its constructor and Unregister() at the start of
// its destructor.
class HostCommunicator : public Communicator {
 public:
  void SetTimeout(milliseconds timeout) final;
  void Abort(const std::string& reason) final;

 protected:
  explicit HostCommunicator(const CommunicatorOptions& options);

  // Ends the waits of all threads, here and on the other shards; all later transfers fail. Called
  // once, by any thread.
  virtual void Close() = 0;
  // Called by BeginOperation, for the derived class.
  virtual void BeginTransfers(bool agreeing) = 0;

  void BeginOperation(const std::string& description, bool agreeing) final;

  const CommunicatorOptions& options() const { return options_; }
  // The end of the time limit of the operation in progress.
  const Deadline& deadline() const { return deadline_; }
  bool aborted() const { return aborted_; }

  // Throws PeerLost with the operation and the reason after Abort().
  void ThrowIfAborted();
  // Ends the operation, also for the other shards, because shard `suspect`, described by `peer`,
  // did not answer in time (PeerTimeout) or is lost because of `cause` (PeerLost).
  [[noreturn]] void Fail(int suspect, const std::string& peer, bool late, const std::string& cause);

 private:
  CommunicatorOptions options_;
  std::string operation_;
  Deadline deadline_{milliseconds(0)};

  std::atomic<bool> aborted_{false};
  std::mutex abort_mutex_;
  std::string abort_reason_;
};

}  // namespace caffe2
