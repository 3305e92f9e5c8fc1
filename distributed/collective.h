// Collective operations among the shards of a run, whatever carries them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "caffe2/core/type_meta.h"

namespace caffe2 {

class RunMembership;

// A collective operation failed because of another shard (rank() is -1 if it cannot be told which).
class PeerLost : public IoError {
 public:
  PeerLost(std::string message, int rank) : IoError(std::move(message)), rank_(rank) {}
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

// One group of shards that all call the same operations in the same order: a "common world".
// Buffers are the caller's, on the device the communicator was made for. Used by one thread at a
// time, but for Abort().
//
// On the host an operation is done when its call returns. Those of device memory only start it,
// behind what the device's compute stream holds at the call: the buffer is the operation's until
// Await() has returned, which also throws what went wrong.
//
// Every operation carries a name. Before its first use, and when its size or type changes, the
// shards compare what they are about to do; a disagreement throws EnforceNotMet, naming both, on
// every shard. Other failures throw PeerLost or PeerTimeout with rank, host and address of the
// peer; the communicator is of no use afterwards.
//
// Sums are the same to the last bit on every shard and in every run with as many shards. float16
// and bfloat16 are added in float and rounded after each addition.
class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }

  // The run that the world belongs to, which lasts as long as the world; null if there is none.
  const std::shared_ptr<RunMembership>& run() const { return run_; }
  void SetRun(std::shared_ptr<RunMembership> run) { run_ = std::move(run); }

  // data[i] = sum over shards; float, double, float16, bfloat16, int32, int64, uint8.
  void Allreduce(const std::string& name, void* data, int64_t count, TypeMeta type);
  // Data of shard `root` to all.
  void Broadcast(const std::string& name, void* data, int64_t count, TypeMeta type, int root);
  // output holds size() * count elements, shard by shard. input may be its place in there.
  void Allgather(const std::string& name, const void* input, void* output, int64_t count,
                 TypeMeta type);
  // Sums `data` over the shards; the first counts[rank()] elements of it receive this shard's part
  // (shard i gets counts[i] elements, after those of the shards before it); the rest is undefined.
  void ReduceScatter(const std::string& name, void* data, const std::vector<int64_t>& counts,
                     TypeMeta type);
  void Barrier(const std::string& name);
  // Throws EnforceNotMet on every shard, with the details of two, unless all give the same one.
  // Nothing is compared again until it changes.
  void Agree(const std::string& name, const std::string& detail);
  // Waits until all operations that were started are done.
  virtual void Await() {}

  // True if operations, and Await(), may be recorded in a CUDA graph (caffe2/cuda/graph.h): Await()
  // then makes the compute stream wait. All shards must record the same ones: some cannot meet what
  // others run one by one. BeginRecorded() comes before each launch; AwaitRecorded() behind it
  // waits on the host as Await() does, until all of the graph is done, and the limit of an
  // operation begins with the launch.
  virtual bool MayBeRecorded() const { return false; }
  virtual void BeginRecorded() {}
  virtual void AwaitRecorded() {}

  // A second world of the same shards, so that operations on both may overlap. Collective.
  virtual std::shared_ptr<Communicator> Clone(const std::string& name) = 0;

  // Limit of each operation from now on; the timeout of the connection phase until then.
  virtual void SetTimeout(std::chrono::milliseconds timeout) = 0;

  // From any thread: makes the operation in progress and all later ones throw PeerLost(reason).
  virtual void Abort(const std::string& reason) = 0;

 protected:
  Communicator(int rank, int size);

  // AbortCommunicators() reaches a communicator between these calls, which belong at the end of a
  // derived constructor and at the start of its destructor.
  void Register();
  void Unregister();

  virtual void DoAllreduce(void* data, int64_t count, TypeMeta type) = 0;
  virtual void DoBroadcast(void* data, size_t bytes, int root) = 0;
  virtual void DoAllgather(const void* input, void* output, size_t bytes) = 0;
  virtual void DoReduceScatter(void* data, const std::vector<int64_t>& counts, TypeMeta type) = 0;
  virtual void DoBarrier() = 0;
  // The plans of all shards, in host memory, done when it returns.
  virtual void GatherPlans(const void* own, void* all, size_t bytes) {
    DoAllgather(own, all, bytes);
  }
  // Called before each operation, and before the comparison (`agreeing`) that may precede it. A
  // shard that compares while another one runs the operation must not take the one's messages for
  // the other's.
  virtual void BeginOperation(const std::string& description, bool agreeing) = 0;

 private:
  struct Plan;
  void Agree(const char* kind, const std::string& name, int64_t count, TypeMeta type, int root);
  // `shown` is `detail` with the name, where a long one is cut off.
  void Agree(const std::string& operation, const std::string& detail, const std::string& shown);

  const int rank_;
  const int size_;
  std::shared_ptr<RunMembership> run_;
  std::map<std::string, std::string> agreed_;  // "<kind> <name>" -> what the shards agreed on
};

// Aborts every communicator of this process: when a peer is known to be lost.
void AbortCommunicators(const std::string& reason);

CAFFE2_TYPE_NAME(std::shared_ptr<Communicator>, "std::shared_ptr<Communicator>");

}  // namespace caffe2
