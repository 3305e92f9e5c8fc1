// The store through which a shard meets the others of its run.
#pragma once

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
  // For every shard, before it leaves a run that ends well: tells the process that keeps the store.
  // Never throws.
  void AnnounceEnd();

 private:
  const ShardOptions shards_;
  std::unique_ptr<PrivateStore> kept_;  // null: by another process
  std::optional<RedisOptions> redis_;   // unless it is a directory
  StoreFactory stores_;
};

}  // namespace caffe2
