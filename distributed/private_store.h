// The store of tcp:// addresses: a Redis server that belongs to one run.
//
// Shard 0 (or MXNet's scheduler) runs the server; the other processes of the run find it. A
// RedisStoreHandler uses it, and `redis-cli -h HOST -p PORT -a PASSWORD` shows its keys.
#pragma once

#include <functional>
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
  // At most 512 printable characters without blanks, quotes and backslashes. If it is empty, the
  // run_id is the password: this keeps other runs out, but not an attacker.
  std::string password;
  std::string secret = {};  // signs the values of the store (signed_store.h); empty: unsigned
  // Called a few times a second while FindPrivateStore and WaitForRun wait. An exception from it
  // ends the wait.
  std::function<void()> while_waiting = {};
};

// The server. Not thread-safe.
class PrivateStore {
 public:
  // Starts the server on the first free port of the URL, bound to the addresses of the URL's host
  // that belong to this host. If these are loopback addresses and the URL does not ask for
  // loopback, the server also listens on the address that this host uses to reach others. Throws
  //  - RunConflict, with host and pid, if a live process runs the store of this run there already;
  //  - IoError if this host has no such address, all ports are in use, or there is no server
  //    program;
  //  - UsageError for a password that PrivateStoreOptions does not allow.
  explicit PrivateStore(const PrivateStoreOptions& options);
  // Waits until the other shards of the run have left or died, for at most kLinger, because they
  // read the run's failure from the store. Then ends the server.
  ~PrivateStore();

  // How to connect to the server.
  const RedisOptions& redis() const { return redis_; }

  // For a process that only keeps the store: returns when all shards have left and announced a
  // clean end (AnnounceEnd). Throws IoError with the failure that they announced, or if all of them
  // disappear without announcing an end; TimeoutError if no shard joins within `join_timeout`.
  void WaitForRun(milliseconds join_timeout);

  static constexpr milliseconds kLinger{12000};  // RunOptions::lease and the time of a slow beat

 private:
  // Starts the server on the port of these addresses. Returns false if the port is in use.
  bool StartOn(const std::vector<std::string>& addresses, int port);
  bool IsInUse(const std::vector<std::string>& addresses, int port) const;
  bool WaitForServer();

  const PrivateStoreOptions options_;
  RedisOptions redis_;
  std::unique_ptr<RedisProcess> process_;
};

// Waits until it finds the store that another process of the run keeps. Throws UsageError as
// PrivateStore, and TimeoutError after `timeout`; its text describes what answered instead.
RedisOptions FindPrivateStore(const PrivateStoreOptions& options, milliseconds timeout);

// Numbers the processes of a kind ("shards") by arrival: returns 0 to the first caller, 1 to the
// second, ... Throws IoError if `count` processes have called it already.
int ClaimNumber(const StoreFactory& stores, const std::string& run_id, const std::string& kind,
                int count);
// Tells WaitForRun() how the run ends, even if the run was too short to be seen. An empty `failure`
// is a clean end. Every shard calls it from RunOptions::on_end.
void AnnounceEnd(const StoreFactory& stores, const std::string& run_id, const std::string& failure);

}  // namespace caffe2
