#include "train/shard_store.h"

#include "distributed/file_store_handler.h"
#include "distributed/run_store_handler.h"
#include "distributed/signed_store.h"

namespace caffe2 {

milliseconds Milliseconds(double seconds) {
  return milliseconds(static_cast<int64_t>(seconds * 1e3));
}

PrivateStoreOptions PrivateStoreOf(const ShardOptions& shards) {
  return {.url = shards.tcp_store,
          .run_id = shards.run_id,
          .num_shards = shards.NumProcesses(),
          .password = shards.store_password,
          .secret = shards.store_secret,
          .while_waiting = shards.while_waiting};
}

ShardStore::ShardStore(const ShardOptions& shards)
    : run_id_(shards.run_id), scheduler_keeps_store_(shards.scheduler_keeps_store) {
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
    redis_->tls = shards.redis_tls;
    redis_->ca_file = shards.redis_ca_file;
    redis_->cert_file = shards.redis_cert_file;
    redis_->key_file = shards.redis_key_file;
  }
  stores_ = SignedStores(redis_ ? RedisStores(*redis_) : FileStores(shards.file_store_path),
                         shards.store_secret);
}

std::unique_ptr<StoreHandler> NewRunStoreHandler(const ShardOptions& shards) {
  const auto store = std::make_shared<ShardStore>(shards);
  RunOptions run;
  run.run_id = shards.run_id;
  run.join_timeout = Milliseconds(shards.rendezvous_timeout);
  run.on_end = store->EndListener();
  // The factory is copied to all that use the store, which keeps it until the last one is gone.
  return std::make_unique<RunStoreHandler>(
      [store](const std::string& prefix) { return store->stores()(prefix); }, run);
}

std::function<void(const std::string&)> ShardStore::EndListener() const {
  if (!scheduler_keeps_store_) return nullptr;
  return [stores = stores_, run_id = run_id_](const std::string& failure) {
    try {
      AnnounceEnd(stores, run_id, failure);
    } catch (const std::exception& error) {
      LOG(WARNING) << "run " << run_id
                   << ": cannot tell the end to the process that keeps the store: " << error.what();
    }
  };
}

}  // namespace caffe2
