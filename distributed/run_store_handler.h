// A store handler whose common worlds belong to a run.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "distributed/prefix_store_handler.h"
#include "distributed/run_membership.h"

namespace caffe2 {

// RedisStoreHandlerCreate and FileStoreHandlerCreate make it if they have a prefix, which is the
// run_id. Store operators use it as a plain store with keys "<prefix>/<key>", before the process
// joins the run and after.
class RunStoreHandler final : public PrefixStoreHandler {
 public:
  // Connects; waits up to options.join_timeout for a store that cannot be reached (OpenStore, with
  // options.while_waiting). Join() sets num_shards, shard_id, fingerprint, devices and
  // while_waiting.
  RunStoreHandler(StoreFactory stores, const RunOptions& options);

  // Joins the run, unless this process has joined it already through any handler (JoinRun, with its
  // exceptions). Later calls return the run of the first call whatever their arguments, so that a
  // world of only some shards belongs to the same run. The status shows `devices`; for
  // `fingerprint` and `while_waiting` see RunOptions. Thread-safe.
  std::shared_ptr<RunMembership> Join(int num_shards, int shard_id,
                                      const std::map<std::string, std::string>& fingerprint,
                                      const std::string& devices,
                                      const std::function<void()>& while_waiting);

 private:
  const StoreFactory stores_;
  const RunOptions options_;
  std::mutex mutex_;
  std::shared_ptr<RunMembership> run_;
};

}  // namespace caffe2
