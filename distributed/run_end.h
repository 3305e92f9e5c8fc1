// How a shard ends its part in a run: whom it waits for, and which keys it removes.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "distributed/run_heartbeat.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// Waits for other shards ask the store first after kFirstPoll, then less and less often, and log
// whom they wait for every kProgressEvery.
inline constexpr milliseconds kFirstPoll{5}, kSlowestPoll{100}, kProgressEvery{5000};
// Deadline for a store that does not answer when a run ends.
inline constexpr milliseconds kEndWait{2000};

// All methods throw IoError if the store fails. Not thread-safe.
class RunEnd {
 public:
  // The arguments must outlive this.
  RunEnd(StoreHandler* store, const RunPlace& place, RunHeartbeat* heartbeat)
      : store_(store), place_(place), heartbeat_(heartbeat) {}

  // Announces that this shard leaves. Then waits, at most exit_timeout, until the others leave too,
  // the run fails or the heartbeat gives up. It does not wait for an expendable shard whose process
  // has died, that is, for which `is_gone(shard)` returns true.
  void LeaveTogether(const std::function<bool(int shard)>& is_gone);
  // Stops the heartbeat and removes the keys of this shard.
  void WithdrawOwnKeys();
  // WithdrawOwnKeys(); the last shard to call this also removes all other keys of the run. If a
  // shard has died, there is no last shard, and the keys expire; for an expendable shard
  // RunHeartbeat counts the call. `ends_run`: the run ends, not only this shard, so calls on_end.
  void EndInStore(bool ends_run);

 private:
  const RunOptions& options() const { return place_.options; }
  void AnnounceLeaving();
  void WaitForOthersToLeave(const std::function<bool(int)>& is_gone, const Deadline& deadline);
  void RemoveSharedKeys();
  void RemoveGenerationKeys(int generation);

  StoreHandler* store_;
  const RunPlace& place_;
  RunHeartbeat* heartbeat_;
  std::set<std::string> published_;  // keys of common worlds, set by WithdrawOwnKeys()
};

}  // namespace caffe2
