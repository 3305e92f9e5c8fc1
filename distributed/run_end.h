// How a shard ends its part in a run: for which shards it waits, and which keys it removes.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "distributed/run_heartbeat.h"
#include "distributed/store_handler.h"

namespace caffe2 {

// A wait for other shards asks the store first after kFirstPoll, then less and less often, down to
// every kSlowestPoll. Every kProgressEvery it logs for which shards it waits.
inline constexpr milliseconds kFirstPoll{5}, kSlowestPoll{100}, kProgressEvery{5000};
// How long the end of a run waits for a store that does not answer.
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
  // Calls WithdrawOwnKeys(). The last shard to call this also removes all other keys of the run. If
  // a shard has died, there is no last one, and the keys expire; but RunHeartbeat counts a call for
  // an expendable shard that has died. `ends_run`: the whole run ends, not only this shard's part;
  // then it calls on_end first.
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
