// Who takes part in a distributed run: joining it, staying alive in it, ending it.
//
// All keys of a run begin with "<run_id>/" (distributed/README.md lists them). A run_id may be used
// again at once after a clean end, and after a crash as soon as its processes are gone.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/exit_code.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Shards disagree about what they run (kDisagreement), or a shard id is taken or the run_id is in
// use (kNotPermitted).
class RunConflict : public WithExitCode<EnforceNotMet> {
 public:
  using WithExitCode::WithExitCode;
};

// The run has failed. what() begins with line(), which is the same on every shard.
class RunFailed : public WithExitCode<IoError> {
 public:
  explicit RunFailed(const std::string& line)
      : WithExitCode(ExitCode::kPeerLost, line), line_(line) {}
  const std::string& line() const { return line_; }

 private:
  std::string line_;
};

struct RunOptions {
  std::string run_id;  // letters, digits, '.', '_', '-'; at most 200
  int num_shards = 1;
  int shard_id = 0;
  // Values that must be the same on all shards, by name: model, batch_size, image_size, dtype, ...
  // num_shards and "version" are always compared, even if they are not listed; the default of
  // "version" is VersionAndCommit().
  std::map<std::string, std::string> fingerprint;
  std::string devices;  // "cpu" or "gpu 0,1": shown in the status, not compared

  milliseconds join_timeout{300000};  // time for all shards to join
  milliseconds heartbeat{500};        // time between two heartbeats
  // A new run may take over from shards that have been silent for this long; at least 4 heartbeats.
  milliseconds lease{10000};
  // The run fails once a shard has been silent for this long, or for a lease, if that is longer. A
  // shard that is frozen for a shorter time goes on as if nothing had happened.
  milliseconds silence{0};
  milliseconds exit_timeout{30000};  // Leave() waits at most this long for the other shards
  // A shard that was asked to stop (OnStopWhileBlocked) goes on connecting for this long, which is
  // enough unless another shard is late.
  milliseconds connect_patience{1000};

  // Shards 0 to num_expendable - 1 may die or fail without an end of the run (workers, when the
  // other shards are parameter servers). All shards must give the same number.
  int num_expendable = 0;
  // Called by the heartbeat thread of a shard that is not expendable, once for each expendable
  // shard that it finds dead or silent. Must not throw.
  std::function<void(int shard, const std::string& line)> on_expendable_lost;

  // Called about ten times a second while Join() waits. An exception ends Join().
  std::function<void()> while_waiting;
  // Called once when this shard leaves the run, before its keys are removed, with Failure() (empty
  // at a clean end). Not called if the store is unreachable then, or if the run went on without
  // this shard. For a process that watches the run. Must not throw.
  std::function<void(const std::string& failure)> on_end;
};

// The status that `redis-cli hgetall <run_id>/status/<shard>` shows.
struct ShardStatus {
  std::string state = "joining";  // joining, training, testing, saving, finished, failed, ...
  int64_t epoch = 0;
  int64_t iteration = 0;
  double images_per_second = 0;
  double loss = 0;
  std::map<std::string, std::string> more;  // further fields of the hash
};

// One shard's place in a run. It has a thread, with its own connection to the store, that renews
// the shard's lease, publishes its status and watches the others. Thread-safe.
//
//   auto run = RunMembership::Join(RedisStores(redis_options), run_options);
//   run->OnPeerLost([&](const std::string& line) { AbortCommunicators(line); });
//   *ws->CreateBlob("store_handler")->GetMutable<std::unique_ptr<StoreHandler>>() =
//       run->MakeStore();
//   ... train; run->UpdateStatus(status) at each log line ...
//   run->Leave();                                  // after the last collective
//   // on an exception e:  line = run->ReportFailure(e.what(), IsPeerError(e), SuspectOf(e));
//   //                     print the line and exit with a non-zero status
class RunMembership {
 public:
  // Joins the run and waits until all shards have joined and agree. Logs progress every 5 s. Throws
  //  - RunConflict if a live process holds the run_id or the shard id (the text names its host and
  //    pid; that run is not harmed), or if shards differ in num_shards, version or the fingerprint
  //    (every shard throws the same text, with the field, the values and the shards);
  //  - TimeoutError, with the missing shards, after join_timeout;
  //  - IoError if the store fails or a shard dies while joining, StoreUnreachable if no store has
  //    answered within join_timeout;
  //  - EnforceNotMet for options out of range, before it uses the store.
  static std::unique_ptr<RunMembership> Join(const StoreFactory& stores, const RunOptions& options);

  // Reports a failure of this shard unless Leave() or ReportFailure() was called.
  virtual ~RunMembership() = default;

  // A new handler for the common worlds of this run. Leave() removes the keys set through it, and
  // they expire if the shard dies. The handler must not outlive the membership.
  virtual std::unique_ptr<StoreHandler> MakeStore() = 0;

  // Every fourth heartbeat publishes the status; another state or epoch, the first iteration of an
  // epoch and the first speed are published at once, by the heartbeat thread. Never blocks. While
  // the state is "saving" and the store is unreachable, a process that ends is taken for one that
  // has left. That holds for the C++ trainers' "saving" state, too, which each checkpoint and each
  // model sets.
  virtual void UpdateStatus(const ShardStatus& status) = 0;

  // Sets a callback that gets the line of Failure() once the run has failed. It is called once: by
  // the heartbeat thread, by ReportFailure(), or by OnPeerLost() itself if the run has failed
  // already. Set it before the first collective. It must not throw, nor call Leave() or
  // ReportFailure().
  virtual void OnPeerLost(std::function<void(const std::string& line)> callback) = 0;
  // Once `asked()` returns true, because this shard was asked to stop, the heartbeat thread looks
  // for shards for which this one waits in vain (stop_patience.h). If it finds one, it calls
  // `give_up(why)` once, and from then on Leave() does not wait either. Set it before the first
  // collective. `asked` is called twice per heartbeat, and by threads that wait for other shards to
  // connect. Neither may throw.
  //
  // In a run with expendable shards, which may be silent without harm, only a shard that connects
  // to others gives up (connect_patience), in the thread that connects.
  virtual void OnStopWhileBlocked(std::function<bool()> asked,
                                  std::function<void(const std::string& why)> give_up) = 0;
  // Says that the other shards have done their part, and only this one has work left: the last
  // save. From now on it is not a failure if one of their processes ends. (A shard that leaves
  // while the store is unreachable cannot say so, and looks like a lost one.) Only for runs without
  // expendable shards.
  virtual void NoteOthersDone() = 0;
  // Empty while the run is well; otherwise "peer lost: shard=1 host=... pid=... iteration=...
  // phase=... cause=...", the same line on every shard. Only while the store is unreachable may a
  // shard have a line of its own. ReportFailure() then waits some seconds for the store, and takes
  // the line that is there; if the store stays away, each shard keeps its own.
  virtual std::string Failure() const = 0;
  // Throws IoError with Failure() if there is one. For loops without collectives.
  void ThrowIfFailed() const;

  // Ends the run because this shard failed with `cause` (the text of an exception); an expendable
  // shard that is itself at fault only leaves it. Returns the line that all shards print. Never
  // throws. The last shard to report removes every key of the run.
  //  - Without `peer_error` this shard is at fault; the line names it, unless another failure was
  //    recorded before.
  //  - With `peer_error` another shard is at fault. Heartbeats are watched once an operation takes
  //    longer than a second. If that was shorter, the call watches for four heartbeats (at least
  //    2 s; up to a lease if several shards are silent), or until a shard has recorded the failure.
  //    The line names the shard whose process is gone or whose heartbeat stopped, or else `suspect`
  //    (-1: unknown).
  //  - If the store is unreachable, the call waits for it, at most for the time in which the other
  //    shards notice the failure. If it comes back, the first line that a shard writes counts.
  // Later calls return the line at once.
  virtual std::string ReportFailure(const std::string& cause, bool peer_error,
                                    int suspect = -1) = 0;

  // Ends the run cleanly: waits (at most exit_timeout) until the other shards leave too, then
  // removes every key of this shard; the last shard removes the keys of the run. If the run has
  // failed, it only removes keys. Never throws; logs errors.
  //
  // Returns the line of the failure if another shard failed before it called Leave(): its part of
  // the work is missing. Returns "" otherwise, also for a failure that this shard could not record
  // because the store is unreachable. A shard that dies inside Leave() is not a failure.
  virtual std::string Leave() = 0;

  virtual int generation() const = 0;  // 1 unless earlier runs of this run_id crashed
  // The same for all generations of this run in this store, and for no other run (run_record.h).
  virtual const std::string& token() const = 0;
  virtual const RunOptions& options() const = 0;
  // The number of cores on which this shard should compute (core_share.h).
  virtual int CoreShare() const = 0;
  // "shard 1 (host a, pid 17)", for messages.
  virtual std::string DescribeShard(int shard) const = 0;
};

}  // namespace caffe2
