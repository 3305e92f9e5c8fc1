// Shows people what the runs in a store are doing: doppio top, doppio runs, doppio clean.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "distributed/run_record.h"
#include "distributed/store_browser.h"

namespace caffe2 {

enum class ShardLife { kAlive, kDead, kUnknown };

// One shard, read from its keys.
struct ShardView {
  std::optional<MemberRecord> member;         // nullopt: the key is gone
  RunRecord heartbeat;                        // empty if the key is gone
  std::map<std::string, std::string> status;  // RunMembership's fields; empty if the key is gone
  ShardLife life = ShardLife::kUnknown;
  // The shards that have not yet begun the collective operation of this one; empty if it waits for
  // none.
  std::vector<int> waits_for;
};

struct RunView {
  std::string run_id;
  int generation = 1;
  std::string failure;  // the line; "" while the run is well
  // False if the generation is not a number: the run's values are signed with a secret that the
  // inspector does not have (signed_store.h), or belong to another program.
  bool readable = true;
  std::vector<ShardView> shards;  // by shard id

  // kAlive if a shard lives, kDead if all are dead; kUnknown for a run that is not readable.
  ShardLife life() const;
};

// Reads runs and watches their heartbeats. Not thread-safe; throws like StoreHandler does.
class RunInspector {
 public:
  RunInspector(StoreFactory stores, std::unique_ptr<StoreBrowser> browser)
      : stores_(std::move(stores)), browser_(std::move(browser)) {}

  // The run ids in the store. Leaves out names that cannot be run ids.
  std::vector<std::string> RunIds();
  // The run as it is now, with at most 4096 shards. A shard without a member key is dead; if its
  // member key cannot be parsed, its life is unknown. A process on this host is alive or dead. On
  // another host, a shard is alive if its heartbeat has changed since an earlier call, and dead if
  // its heartbeat has not changed for a lease. Throws like CheckRunId if `run_id` cannot be one.
  RunView Read(const std::string& run_id);
  // Reads the runs again and again until the life of all is known, or for `limit`.
  std::vector<RunView> Watch(const std::vector<std::string>& run_ids, milliseconds limit);
  // Removes all keys of the run; returns how many there were. The caller has made sure that the run
  // is dead. A run that joins at the same moment publishes its keys again.
  size_t Remove(const std::string& run_id);

 private:
  ShardLife LifeOf(const MemberRecord& member, const std::string& key,
                   const std::string& heartbeat);

  const StoreFactory stores_;
  const std::unique_ptr<StoreBrowser> browser_;
  std::map<std::string, ChangeWatch> heartbeats_;  // by run id, generation and shard
};

}  // namespace caffe2
