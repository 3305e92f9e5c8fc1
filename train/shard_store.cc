#include "train/shard_store.h"

#include "distributed/file_store_handler.h"

namespace caffe2 {

milliseconds Milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(seconds * 1e3));
}

PrivateStoreOptions PrivateStoreOf(const ShardOptions& shards) {
  return {.url = shards.tcp_store,
          .run_id = shards.run_id,
          .num_shards = shards.num_shards,
          .password = shards.store_password};
}

ShardStore::ShardStore(const ShardOptions& shards) : shards_(shards) {
  if (!shards.tcp_store.empty()) {
    const PrivateStoreOptions store = PrivateStoreOf(shards);
    if (shards.shard_id == 0 && !shards.scheduler_keeps_store) {
      kept_ = std::make_unique<PrivateStore>(store);
      redis_ = kept_->redis();
    } else {
      redis_ = FindPrivateStore(store, Milliseconds(shards.rendezvous_timeout));
    }
  } else if (!shards.redis_host.empty()) {
    redis_.emplace();
    redis_->host = shards.redis_host;
    redis_->port = shards.redis_port;
    redis_->user = shards.redis_user;
    redis_->password = shards.store_password;
    redis_->database = shards.redis_db;
  }
  stores_ = redis_ ? RedisStores(*redis_) : FileStores(shards.file_store_path);
}

void ShardStore::AnnounceEnd() {
  if (!shards_.scheduler_keeps_store || shards_.shard_id != 0) return;
  try {
    caffe2::AnnounceEnd(*redis_, shards_.run_id);
  } catch (const std::exception& error) {
    LOG(WARNING) << "run " << shards_.run_id
                 << ": who keeps its store is not told of the end: " << error.what();
  }
}

}  // namespace caffe2
