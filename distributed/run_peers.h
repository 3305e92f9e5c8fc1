// What a shard knows of the shards of its run: who they are, and which of them live.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "distributed/run_heartbeat.h"
#include "distributed/run_record.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// The records of the shards of one generation, as last read. On this host it looks at the process
// itself, on another host at the heartbeat. Not thread-safe, but const members may be called by
// several threads.
class RunPeers {
 public:
  enum class Life { kAlive, kDead, kUnknown };

  // The place must outlive this.
  explicit RunPeers(const RunPlace& place) : place_(place) {}

  // Forgets all. From now on there is room for at least `num_shards` shards.
  void Clear(int num_shards) { peers_.assign(num_shards, Peer()); }
  // Makes room for the shards of a run that has more of them.
  void Extend(int num_shards);
  void Set(int shard, const MemberRecord& record) { peers_.at(shard).record = record; }
  // Reads what the store has of the shard. Throws IoError if the store fails, like all functions
  // that have one.
  void Fetch(StoreHandler* store, int shard);

  // The record; null if the shard had none when it was read.
  const MemberRecord* Find(int shard) const;
  // "shard 1 (host a, pid 17)".
  std::string Describe(int shard) const;
  // One record for each shard. All must have joined.
  std::vector<MemberRecord> Members() const;

  Life LifeOf(int shard) const;
  // Watches the shard until it is certain; a lease and a heartbeat at most.
  bool IsLive(StoreHandler* store, int shard);
  // True if the process runs on this host and has died. The shard must have joined.
  bool IsGone(int shard) const;
  // The other shards that have not joined or do not live.
  std::vector<int> Missing(StoreHandler* store);

 private:
  struct Peer {
    std::optional<MemberRecord> record;
    ChangeWatch heartbeat;
  };

  const RunOptions& options() const { return place_.options; }

  const RunPlace& place_;
  std::vector<Peer> peers_;
};

}  // namespace caffe2
