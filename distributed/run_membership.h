// Who takes part in a distributed run: joining it, being seen alive in it, ending it.
//
// All keys of a run begin with "<run_id>/" (docs: distributed/README.md lists them). A run_id may
// be used again at once after a clean end, and as soon as its processes are gone after a crash.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "distributed/store_handler.h"

namespace caffe2 {

// Shards disagree about what they run, a shard id is taken, or the run_id is in use.
class RunConflict : public EnforceNotMet {
 public:
  using EnforceNotMet::EnforceNotMet;
};

// The run has failed. what() begins with line(), which is the same on every shard.
class RunFailed : public IoError {
 public:
  explicit RunFailed(const std::string& line) : IoError(line), line_(line) {}
  const std::string& line() const { return line_; }

 private:
  std::string line_;
};

struct RunOptions {
  std::string run_id;  // letters, digits, '.', '_', '-'; at most 200
  int num_shards = 1;
  int shard_id = 0;
  // What all shards must agree on, by a readable name: model, batch_size, image_size, dtype, ...
  // num_shards is always compared and need not be listed.
  std::map<std::string, std::string> fingerprint;
  std::string devices;  // "cpu" or "gpu 0,1": shown in the status, not compared

  milliseconds join_timeout{300000};  // all shards must have joined by then
  milliseconds heartbeat{500};        // between two signs of life
  milliseconds lease{10000};          // a shard silent for so long counts as dead; >= 4 heartbeats
  milliseconds exit_timeout{30000};   // Leave() waits no longer for the other shards

  // Called once, when this shard ends its part and before its keys go: with Failure(), which is
  // empty at a clean end. For a process that watches the run. Must not throw.
  std::function<void(const std::string& failure)> on_end;
};

// What a person sees in `redis-cli hgetall <run_id>/status/<shard>`.
struct ShardStatus {
  std::string state = "joining";  // joining, training, testing, saving, finished, failed, ...
  int64_t epoch = 0;
  int64_t iteration = 0;
  double images_per_second = 0;
  double loss = 0;
};

// One shard's place in a run. A thread of its own renews the shard's lease, publishes its status
// and watches the others; it uses a connection of its own. Methods may be called from any thread.
//
//   auto run = RunMembership::Join(RedisStores(redis_options), run_options);
//   run->OnPeerLost([&](const std::string& line) { AbortCommunicators(line); });
//   *ws->CreateBlob("store_handler")->GetMutable<std::unique_ptr<StoreHandler>>() =
//       run->MakeStore();
//   ... train; run->UpdateStatus(status) at each log line ...
//   run->Leave();                                  // after the last collective
//   // in case of an exception e:  line = run->ReportFailure(e.what()); print it, exit non-zero
class RunMembership {
 public:
  // Joins and waits until all shards have joined and agree; logs progress every 5 s. Throws
  //  - RunConflict: the run_id or the shard id is held by a live process (named by host and pid;
  //    that run goes on unharmed), or shards differ in num_shards or the fingerprint (then every
  //    shard gets the same line, naming field, values and shards);
  //  - TimeoutError after join_timeout, listing the shards that are missing;
  //  - IoError if the store fails or a shard died meanwhile;
  //  - EnforceNotMet for options out of range, before the store is touched.
  static std::unique_ptr<RunMembership> Join(const StoreFactory& stores, const RunOptions& options);

  // Without Leave() or ReportFailure() before it, this counts as a failure of this shard.
  virtual ~RunMembership() = default;

  // A new handler for the common worlds of this run. What is set through it is removed by Leave(),
  // and expires if the shard dies. It must not outlive the membership.
  virtual std::unique_ptr<StoreHandler> MakeStore() = 0;

  // Kept and published with the next heartbeat; never blocks.
  virtual void UpdateStatus(const ShardStatus& status) = 0;

  // Called once, from the heartbeat thread, with the line of Failure() when another shard has died
  // or failed. Set it before the first collective; the callback must not call Leave().
  virtual void OnPeerLost(std::function<void(const std::string& line)> callback) = 0;
  // Empty while all is well, else "peer lost: shard=1 host=... pid=... iteration=... phase=...
  // cause=...": the same line on every shard.
  virtual std::string Failure() const = 0;
  // Throws IoError with Failure() if that is set. For loops without collectives.
  void ThrowIfFailed() const;

  // This shard has to give up because of `cause` (an exception's text, one line). If `suspect` is
  // -1 and the cause is no communication error, the fault is this shard's own: it becomes the
  // run's failure unless another was recorded before. With `peer_error` set the fault is another
  // shard's: waits up to four heartbeats (2 s) for whoever saw it first, else names the shard whose
  // heartbeat stopped, else `suspect`. Returns the line all shards print; later calls do so at
  // once. The last shard to report removes every key of the run. Never throws.
  virtual std::string ReportFailure(const std::string& cause, bool peer_error,
                                    int suspect = -1) = 0;

  // Clean end: waits (at most exit_timeout) for the other shards to get here too, then removes
  // every key this shard has made; the last shard removes those of the run. If the run has failed
  // already it only does the latter. Never throws; logs what failed.
  virtual void Leave() = 0;

  virtual int generation() const = 0;  // 1 unless earlier runs of this run_id crashed
  virtual const RunOptions& options() const = 0;
  // How many cores this shard should compute on, beside the other shards of its machine
  // (core_share.h).
  virtual int CoreShare() const = 0;
  // "shard 1 (host a, pid 17)", for messages.
  virtual std::string DescribeShard(int shard) const = 0;
};

}  // namespace caffe2
