// The store behind tcp://: a Redis server that belongs to one run.
//
// Shard 0 (or MXNet's scheduler) keeps it; the other processes of the run find it. It is an
// ordinary store of a RedisStoreHandler, and `redis-cli -h HOST -p PORT -a PASSWORD` looks into it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "distributed/redis_process.h"
#include "distributed/redis_store_handler.h"
#include "distributed/store_url.h"

namespace caffe2 {

struct PrivateStoreOptions {
  StoreUrl url;  // of kind kTcp
  std::string run_id;
  int num_shards = 1;
  // Of printable characters without blanks, quotes and backslashes. Empty: the run_id is the
  // password, which keeps other runs out, but nobody who means to come in.
  std::string password;
};

// The server. Its methods are called from one thread.
class PrivateStore {
 public:
  // Starts it on the first free port of the URL, bound to the addresses of the URL's host that are
  // this host's; if these are loopback ones that other hosts would not find by that name, also to
  // the address by which this host reaches others. Throws
  //  - RunConflict if a live process keeps the store of this run there already (host and pid);
  //  - IoError if this host has no such address, all ports are in use, or there is no server
  //    program; UsageError for a password that cannot be one.
  explicit PrivateStore(const PrivateStoreOptions& options);
  // Waits until the other shards of the run have left or died, for at most kLinger: they read here
  // why the run ended. Then ends the server.
  ~PrivateStore();

  const RedisOptions& redis() const { return redis_; }

  // For a process that only keeps the store: returns when all shards have left and announced a
  // good end (AnnounceEnd). Throws IoError with the failure that they announced, or if all of them
  // are gone without a word; TimeoutError if no shard comes within `join_timeout`.
  void WaitForRun(milliseconds join_timeout);

  static constexpr milliseconds kLinger{12000};  // a lease of RunOptions, and what a beat may take

 private:
  // True if the server now listens on the port of these addresses; false if the port is in use.
  bool StartOn(const std::vector<std::string>& addresses, int port);
  bool IsInUse(const std::vector<std::string>& addresses, int port) const;
  bool WaitForServer();

  const PrivateStoreOptions options_;
  RedisOptions redis_;
  std::unique_ptr<RedisProcess> process_;
};

// Looks for the store that another process of the run keeps, until it is there. Throws TimeoutError
// after `timeout`, which says what was found instead.
RedisOptions FindPrivateStore(const PrivateStoreOptions& options, milliseconds timeout);

// For shards that have no number: 0 for the first one that asks the store, 1 for the second, ...
// Throws IoError if `num_shards` have asked already.
int ClaimShardId(const RedisOptions& store, const std::string& run_id, int num_shards);
// Tells WaitForRun() how the run ends, however short it was: well, if `failure` is empty. For
// RunOptions::on_end of every shard.
void AnnounceEnd(const RedisOptions& store, const std::string& run_id, const std::string& failure);

}  // namespace caffe2
