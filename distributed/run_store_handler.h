// A store handler whose common worlds belong to a run.
#pragma once

#include <memory>
#include <mutex>

#include "distributed/prefix_store_handler.h"
#include "distributed/run_membership.h"

namespace caffe2 {

// What RedisStoreHandlerCreate and FileStoreHandlerCreate make where they are given a prefix, which
// is the run_id. For operators that use it as a store, before joining and after, it is the plain
// store with keys "<prefix>/<key>".
class RunStoreHandler final : public PrefixStoreHandler {
 public:
  // Connects at once. Of `options`, num_shards, shard_id and devices are left to Join().
  RunStoreHandler(StoreFactory stores, const RunOptions& options);

  // The run, which this process joins now as one of its shards, unless it did so before through
  // this handler or another one (JoinRun, with its errors). The answer of the first call holds for
  // later ones, so that worlds of some of the shards belong to the same run. `devices` is shown in
  // the status.
  std::shared_ptr<RunMembership> Join(int num_shards, int shard_id, const std::string& devices);

 private:
  const StoreFactory stores_;
  const RunOptions options_;
  std::mutex mutex_;
  std::shared_ptr<RunMembership> run_;
};

}  // namespace caffe2
