// The store through which a shard meets the others of its run.
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "distributed/private_store.h"
#include "train/options.h"

namespace caffe2 {

milliseconds Milliseconds(double seconds);

// The store at shards.tcp_store.
PrivateStoreOptions PrivateStoreOf(const ShardOptions& shards);

// Must outlive what its factory makes. Not synchronised.
class ShardStore {
 public:
  // Starts the store if this shard keeps it, else looks for it for at most rendezvous_timeout; with
  // the errors of PrivateStore and FindPrivateStore. A Redis server or a directory that is there
  // anyway is not touched yet.
  explicit ShardStore(const ShardOptions& shards);

  const StoreFactory& stores() const { return stores_; }
  // RunOptions::on_end of this shard: tells the process that keeps the store, if that does not
  // train itself; else null. May outlive this object.
  std::function<void(const std::string& failure)> EndListener() const;

 private:
  const std::string run_id_;
  const bool scheduler_keeps_store_;
  std::unique_ptr<PrivateStore> kept_;  // null: by another process
  std::optional<RedisOptions> redis_;   // unless it is a directory
  StoreFactory stores_;
};

}  // namespace caffe2
