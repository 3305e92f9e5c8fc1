#include "distributed/run_store_handler.h"

#include "distributed/file_descriptors.h"
#include "distributed/joined_runs.h"
#include "distributed/run_record.h"

namespace caffe2 {

RunStoreHandler::RunStoreHandler(StoreFactory stores, const RunOptions& options)
    : PrefixStoreHandler(
          OpenStore(stores, options.run_id, Deadline(options.join_timeout), options.while_waiting),
          ""),
      stores_(std::move(stores)),
      options_(options) {}

std::shared_ptr<RunMembership> RunStoreHandler::Join(
    int num_shards, int shard_id, const std::map<std::string, std::string>& fingerprint,
    const std::string& devices, const std::function<void()>& while_waiting) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (run_ != nullptr) return run_;
  try {
    ReserveFilesOfWorld(num_shards);
  } catch (const std::exception& error) {
    RecordRefusal(stores_, options_.run_id, shard_id, error.what());
    throw;
  }
  RunOptions options = options_;
  options.num_shards = num_shards;
  options.shard_id = shard_id;
  options.fingerprint = fingerprint;
  options.devices = devices;
  options.while_waiting = while_waiting;
  run_ = JoinRun(Description(), stores_, options);
  return run_;
}

}  // namespace caffe2
