// The store where a shard meets the other shards of its run.
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

// Must outlive the handlers that its factory makes. Not thread-safe.
class ShardStore {
 public:
  // With a tcp:// store: starts the store if this shard keeps it, otherwise waits for it for at
  // most rendezvous_timeout. Throws like PrivateStore and FindPrivateStore do. With a Redis server
  // or a directory: does not contact it yet.
  explicit ShardStore(const ShardOptions& shards);

  const StoreFactory& stores() const { return stores_; }
  // A function for RunOptions::on_end. It tells a store keeper that does not train that the run has
  // ended; null if there is no such process. It may outlive this object.
  std::function<void(const std::string& failure)> EndListener() const;

 private:
  const std::string run_id_;
  const bool scheduler_keeps_store_;
  std::unique_ptr<PrivateStore> kept_;  // null: another process keeps the store
  std::optional<RedisOptions> redis_;   // nullopt: the store is a directory
  StoreFactory stores_;
};

// A store handler for nets that join the run themselves (distributed/run_store_handler.h). Of the
// options it uses only the ids, the store and rendezvous_timeout. Waits and throws like ShardStore.
// If this shard keeps the store, the store lasts until the handler and the run have ended.
std::unique_ptr<StoreHandler> NewRunStoreHandler(const ShardOptions& shards);

}  // namespace caffe2
