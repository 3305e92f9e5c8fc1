// This shard's part in a run: joining it, small exchanges between the shards, leaving it.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "distributed/run_membership.h"
#include "train/options.h"
#include "train/run_lock.h"
#include "train/shard_store.h"

namespace caffe2 {

// "cpu" or "gpu 0,1".
std::string DescribeDevices(const std::vector<Device>& devices);

// With one shard every exchange returns at once and no run is joined. All shards must call the
// exchanging methods in the same order. Not thread-safe.
//
// With parameter servers the workers and servers join one run, but exchange nothing here: each
// counts as shard 0 of 1, and SetWriter() decides who writes files.
class ShardRun {
 public:
  // Opens the store and joins the run (throws like ShardStore and RunMembership::Join do, and
  // StoppedEarly if a signal came while it waited for other shards to connect). Without
  // parameter servers, makes two blobs in `ws`, which must outlive this: the store handler
  // "store_handler" and the common world "control_0_cw" for the exchanges.
  //
  // A parameter server passes `on_worker_lost`: it becomes RunOptions::on_expendable_lost.
  ShardRun(
      const TrainOptions& options, Workspace* ws,
      const std::function<void(int worker, const std::string& line)>& on_worker_lost = nullptr);
  ~ShardRun();
  ShardRun(const ShardRun&) = delete;
  ShardRun& operator=(const ShardRun&) = delete;

  int num_shards() const { return num_shards_; }
  int shard_id() const { return shard_id_; }
  bool IsWriter() const { return is_writer_; }
  void SetWriter(bool is_writer) { is_writer_ = is_writer; }
  // Null if no run was joined.
  RunMembership* membership() { return membership_.get(); }
  // Its run_id is empty if no run was joined.
  const RunIdentity& identity() const { return identity_; }

  // Replaces each element by its sum over the shards, which has the same bits on all shards. All
  // shards pass vectors of the same length.
  void Sum(std::vector<double>* values);
  // Returns the strings of all shards, by shard.
  std::vector<std::string> Gather(const std::string& bytes);
  // Gather with a longer time limit, at least rendezvous_timeout, for shards that may be late.
  std::vector<std::string> GatherWithLongTimeout(const std::string& bytes);
  // Returns the string of shard 0 on all shards.
  std::string Broadcast(const std::string& bytes);

  // Throws IoError with the line of the failure if another shard has failed. Call it in iterations
  // without an exchange.
  void ThrowIfFailed() const;

  // Like RunMembership::NoteOthersDone. Does nothing if no run was joined.
  void NoteOthersDone();
  // Publishes the status in the run's keys. Does nothing if no run was joined.
  void UpdateStatus(const ShardStatus& status);
  // "shard 1 (host a, pid 17)".
  std::string DescribeShard(int shard) const;
  // Ends the run because of `shard`. All shards call it together, with the same text. Throws
  // PeerLost, or IoError if nobody else is concerned: with parameter servers only this worker ends.
  [[noreturn]] void ThrowBlaming(int shard, const std::string& text, ExitCode code) const;

  // True once this shard, which was asked to stop, has given up a wait for others.
  bool gave_up() const { return gave_up_; }
  // Reports that this shard fails because of `cause`. Returns the line that all shards print. (If
  // this shard was asked to stop while it waited for others in vain, its collective operations
  // throw PeerLost, and the line names the signal and the shard that it waited for. Any other cause
  // is in the line itself.)
  std::string ReportFailure(const std::exception& cause);
  // Ends the run cleanly, after the last exchange. Returns the line of a failure as
  // RunMembership::Leave() does.
  std::string Leave();

 private:
  // Notes that this shard, which was asked to stop, waited for others in vain.
  void GiveUp(int signal, const std::string& why);
  void SetTimeout(double seconds);
  // Runs a collective operator on the control world and the blob of values.
  void RunControl(const std::string& type, size_t count, const std::string& output);

  Workspace* ws_;
  double timeout_, late_timeout_;  // time limits of an exchange, in seconds
  int num_shards_;
  int shard_id_;
  int own_id_;  // in the run
  bool is_writer_;
  RunIdentity identity_;
  std::string reason_to_give_up_;  // set before gave_up_
  std::atomic<bool> gave_up_{false};
  std::unique_ptr<ShardStore> store_;  // outlives the membership
  std::unique_ptr<RunMembership> membership_;
};

}  // namespace caffe2
