// Collective operations among the shards of a run: the interface of all transports.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "caffe2/core/type_meta.h"

namespace caffe2 {

class RunMembership;
class TimedWait;

// A collective operation failed because of another shard. rank() is that shard, or -1 if unknown.
class PeerLost : public WithExitCode<IoError> {
 public:
  PeerLost(std::string message, int rank, ExitCode code = ExitCode::kPeerLost)
      : WithExitCode(code, std::move(message)), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};
// The other shard did not answer in time.
class PeerTimeout : public TimeoutError {
 public:
  PeerTimeout(std::string message, int rank) : TimeoutError(std::move(message)), rank_(rank) {}
  int rank() const { return rank_; }

 private:
  int rank_;
};
// True if an exception blames another shard, known or not.
bool IsPeerError(const std::exception& error);
// The shard that an exception blames, or -1.
int SuspectOf(const std::exception& error);

// A group of shards that all call the same operations in the same order: a "common world". The
// caller owns all buffers; they lie on the device of the communicator. One thread at a time may use
// it, except for Abort().
//
// On the host, an operation is done when its call returns. On a device, the call only starts it,
// after the work that the compute stream holds at that time. Do not touch the buffer until Await()
// has returned; Await() also throws the errors of the operation.
//
// Every operation has a name. Before its first use, and whenever its size, type or root changes,
// the shards compare their operations. If they differ, every shard throws EnforceNotMet, which
// names both. EnforceNotMet is also thrown for arguments out of range and for elements that are not
// trivially copyable. Other failures throw PeerLost or PeerTimeout with the rank, host and address
// of the peer; the communicator cannot be used after a failure.
//
// Sums are the same to the last bit on every shard and in every run with the same number of shards.
// float16 and bfloat16 are added in float and rounded after each addition.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The run that the world belongs to and keeps alive; null if there is none.
  const std::shared_ptr<RunMembership>& run() const { return run_; }
  void SetRun(std::shared_ptr<RunMembership> run) { run_ = std::move(run); }

  // data[i] = sum of data[i] over the shards. Takes the types of Accumulate
  // (distributed/accumulate.h).
  void Allreduce(const std::string& name, void* data, int64_t count, TypeMeta type);
  // Sends the data of shard `root` to all shards.
  void Broadcast(const std::string& name, void* data, int64_t count, TypeMeta type, int root);
  // Each shard gives `count` elements; `output` gets size() * count elements, in the order of the
  // shards. `input` may be this shard's part of `output`.
  void Allgather(const std::string& name, const void* input, void* output, int64_t count,
                 TypeMeta type);
  // Sums `data` over the shards and gives shard i its part: counts[i] elements, after the parts of
  // shards 0 to i - 1. The part is moved to the first counts[rank()] elements of `data`; the rest
  // of `data` is undefined.
  void ReduceScatter(const std::string& name, void* data, const std::vector<int64_t>& counts,
                     TypeMeta type);
  // Waits until all shards have called it.
  void Barrier(const std::string& name);
  // Compares `detail` over the shards, unless it is the same as in the last call with this name.
  // Throws EnforceNotMet on every shard, with the details of two shards, if they differ.
  void Agree(const std::string& name, const std::string& detail);
  // Waits until all started operations are done.
  virtual void Await() {}

  // True if operations and Await() may be recorded in a CUDA graph (caffe2/cuda/graph.h). A
  // recorded Await() makes the compute stream wait. All shards must record the same operations: a
  // recorded operation cannot run together with one that is not recorded. Call BeginRecorded()
  // before each launch of the graph and AwaitRecorded() after it. AwaitRecorded() waits on the host
  // until the whole graph is done; the time limit begins with the launch.
  virtual bool MayBeRecorded() const { return false; }
  virtual void BeginRecorded() {}
  virtual void AwaitRecorded() {}

  // Makes a second world of the same shards, so that operations on both may overlap. All shards
  // must call it.
  virtual std::shared_ptr<Communicator> Clone(const std::string& name) = 0;

  // Sets the time limit of each operation. Before the first call it is
  // CommunicatorOptions::timeout.
  virtual void SetTimeout(std::chrono::milliseconds timeout) = 0;

  // Makes the operation in progress and all later ones throw PeerLost(reason). Any thread may call
  // it.
  virtual void Abort(const std::string& reason) = 0;

 protected:
  Communicator(int rank, int size);

  // AbortCommunicators() reaches a communicator between these two calls. A derived class calls
  // Register() at the end of its constructor and Unregister() at the start of its destructor.
  void Register();
  void Unregister();

  virtual void DoAllreduce(void* data, int64_t count, TypeMeta type) = 0;
  virtual void DoBroadcast(void* data, size_t bytes, int root) = 0;
  virtual void DoAllgather(const void* input, void* output, size_t bytes) = 0;
  virtual void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) = 0;
  virtual void DoBarrier() = 0;
  // Gathers `bytes` bytes of every shard in host memory; done when it returns.
  virtual void GatherPlans(const void* own, void* all, size_t bytes) {
    DoAllgather(own, all, bytes);
  }
  // Called before each operation, and before the comparison (`agreeing`) that may precede it. One
  // shard may compare while another already runs the operation: messages of the two must not be
  // confused.
  virtual void BeginOperation(const std::string& description, bool agreeing) = 0;
  // True if operations run on a device, which may begin them long after the call. This object, or
  // the one that it uses, then calls CountOperation and counts waits (WaitFor::kShards) itself.
  // Otherwise an operation counts, and waits, when it is called.
  virtual bool RunsOnDevice() const { return false; }
  // Adds one to the process's CollectiveProgress. Thread-safe.
  static void CountOperation(const std::string& operation);

 private:
  struct Plan;
  // Counts the time until its end as waiting; null on a device.
  std::unique_ptr<TimedWait> StartWait() const;
  void Agree(const char* kind, const std::string& name, int64_t count, TypeMeta type, int root);
  // `shown` is the text for messages: `detail` and the name. It is cut off if it is long.
  void Agree(const std::string& operation, const std::string& detail, const std::string& shown);

  const int rank_;
  const int size_;
  std::shared_ptr<RunMembership> run_;
  std::map<std::string, std::string> agreed_;  // "<kind> <name>" -> the detail that was compared
};

// Gives each operation of a world another time limit until the end of the scope, also if an
// exception ends it.
class TimeoutScope {
 public:
  TimeoutScope(Communicator* world, std::chrono::milliseconds in_scope,
               std::chrono::milliseconds afterwards)
      : world_(world), afterwards_(afterwards) {
    world_->SetTimeout(in_scope);
  }
  ~TimeoutScope() { world_->SetTimeout(afterwards_); }
  TimeoutScope(const TimeoutScope&) = delete;
  TimeoutScope& operator=(const TimeoutScope&) = delete;

 private:
  Communicator* const world_;
  const std::chrono::milliseconds afterwards_;
};

// How many collective operations this process has begun. All shards of a run do the same
// operations, so a shard with a smaller number than the others keeps them waiting. On a device
// an operation begins when the device has done the work before it.
struct CollectiveProgress {
  int64_t started = 0;    // operations of all communicators since the process began
  std::string operation;  // the last one, "Allreduce gradients_3"; empty before the first
};
CollectiveProgress CurrentCollectiveProgress();  // thread-safe

// Aborts every communicator of this process, when a peer is known to be lost. Thread-safe.
void AbortCommunicators(const std::string& reason);

CAFFE2_TYPE_NAME(std::shared_ptr<Communicator>, "std::shared_ptr<Communicator>");

}  // namespace caffe2
