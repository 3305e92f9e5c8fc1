// This shard's part in a run of several: joining, small exchanges between the shards, ending.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/workspace.h"
#include "distributed/run_membership.h"
#include "train/options.h"
#include "train/shard_store.h"

namespace caffe2 {

// Of a run with one shard, all exchanges are trivial and nothing is joined. All shards must call
// the exchanging methods in the same order. Not synchronised.
class ShardRun {
 public:
  // Opens the store of the run and joins it (ShardStore and RunMembership::Join, with their errors)
  // and puts into `ws`, which must outlive this, the store handler "store_handler" and the common
  // world "control_0_cw" of the exchanges.
  ShardRun(const TrainOptions& options, Workspace* ws);
  ~ShardRun();
  ShardRun(const ShardRun&) = delete;
  ShardRun& operator=(const ShardRun&) = delete;

  int num_shards() const { return num_shards_; }
  int shard_id() const { return shard_id_; }
  bool IsWriter() const { return shard_id_ == 0; }

  // Element-wise sums over the shards; the same bits on all. All pass vectors of one length.
  void Sum(std::vector<double>* values);
  // The strings of all shards, by shard.
  std::vector<std::string> Gather(const std::string& bytes);
  // The string of shard 0.
  std::string Broadcast(const std::string& bytes);
  // The same where shard 0 may come late: waits for it as long as for joining, if that is longer.
  std::string BroadcastLate(const std::string& bytes);

  // Shown to people who look at the run's keys; with one shard, nowhere.
  void UpdateStatus(const ShardStatus& status);
  // "shard 1 (host a, pid 17)".
  std::string DescribeShard(int shard) const;

  // This shard fails of `cause`: tells the others and returns the line that all shards print.
  std::string ReportFailure(const std::exception& cause);
  // Clean end, after the last exchange.
  void Leave();

 private:
  void SetTimeout(double seconds);
  // Runs a collective operator of the control world on the blob of values.
  void RunControl(const std::string& type, size_t count, const std::string& output);

  Workspace* ws_;
  double timeout_, late_timeout_;  // seconds, of an exchange
  int num_shards_;
  int shard_id_;
  std::unique_ptr<ShardStore> store_;  // outlives the membership
  std::unique_ptr<RunMembership> membership_;
};

}  // namespace caffe2
