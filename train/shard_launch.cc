#include "train/shard_launch.h"

#include "caffe2/core/usage_error.h"
#include "distributed/private_store.h"
#include "distributed/signed_store.h"
#include "train/shard_store.h"

namespace caffe2 {

namespace {

void ApplyStore(const StoreUrl& store, ShardOptions* shards) {
  switch (store.kind) {
    case StoreUrl::Kind::kNone:
      break;
    case StoreUrl::Kind::kTcp:
      shards->tcp_store = store;
      break;
    case StoreUrl::Kind::kFile:
      shards->file_store_path = store.path;
      break;
    case StoreUrl::Kind::kRedis:
      if (!store.password.empty()) {
        LOG(WARNING) << "--init_method has a password, which other users of this host can see; "
                        "--redis_password_file, CAFFE2_REDIS_PASSWORD_FILE and REDISCLI_AUTH keep "
                        "it to yourself";
        shards->store_password = store.password;
      }
      shards->redis_host = store.host;
      shards->redis_port = store.port;
      shards->redis_user = store.user;
      shards->redis_tls = store.tls;
      shards->redis_db = store.database;
      break;
  }
}

}  // namespace

void ApplyLaunch(const Launch& launch, ShardOptions* shards) {
  shards->num_shards = launch.size - launch.num_servers;
  shards->num_servers = launch.num_servers;
  shards->shard_id = launch.rank;
  shards->local_rank = launch.local_rank;
  shards->local_size = launch.local_size;
  shards->run_id = launch.run_id;
  shards->scheduler_keeps_store = launch.scheduler_keeps_store;
  ApplyStore(launch.store, shards);
  const bool is_server = launch.role == Launch::Role::kServer;
  if (launch.role != Launch::Role::kWorker && !is_server) return;
  if (launch.rank != Launch::kRankByArrival) return;
  const RedisOptions store =
      FindPrivateStore(PrivateStoreOf(*shards), Milliseconds(shards->rendezvous_timeout));
  const StoreFactory stores = SignedStores(RedisStores(store), shards->store_secret);
  if (is_server) {
    const int server = ClaimNumber(stores, shards->run_id, "servers", shards->num_servers);
    shards->shard_id = shards->num_shards + server;
    LOG(INFO) << launch.dialect << ": parameter server " << server << " of " << shards->num_servers;
    return;
  }
  shards->shard_id = ClaimNumber(stores, shards->run_id, "shards", shards->num_shards);
  LOG(INFO) << launch.dialect << ": shard " << shards->shard_id << " of " << shards->num_shards;
}

int FirstGpu(const ShardOptions& shards, int per_shard, int visible) {
  const bool has_its_own = visible == per_shard;
  const int first = has_its_own ? 0 : shards.local_rank * per_shard;
  if (first + per_shard > visible) {
    ThrowUsage("shard ", shards.shard_id, " has local rank ", shards.local_rank, " and needs GPUs ",
               first, " to ", first + per_shard - 1, ", but there are ", visible,
               ": start fewer shards on a host, or name its GPUs with --gpus");
  }
  return first;
}

int ServeRun(const Launch& launch, const ShardOptions& shards) {
  if (launch.role == Launch::Role::kStoreKeeper && shards.NumProcesses() > 1) {
    PrivateStore(PrivateStoreOf(shards)).WaitForRun(Milliseconds(shards.rendezvous_timeout));
    LOG(INFO) << launch.dialect << ": run " << shards.run_id << " has ended";
  } else {
    LOG(INFO) << launch.dialect
              << ": this process has nothing to do, because the shards exchange gradients with "
                 "each other (--param_servers makes servers keep the parameters)";
  }
  return 0;
}

}  // namespace caffe2
