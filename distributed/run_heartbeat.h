// The thread that keeps a shard's place in a run and watches other shards.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distributed/collective.h"
#include "distributed/run_membership.h"
#include "distributed/run_record.h"
#include "distributed/run_straggler.h"
#include "distributed/stop_patience.h"

namespace caffe2 {

// A shard's place in a run.
struct RunPlace {
  // The place of this process. Throws EnforceNotMet, and UsageError for a bad run_id, if the
  // options contradict each other.
  explicit RunPlace(const RunOptions& run_options);

  RunOptions options;
  int generation = 1;
  std::string token;  // of the run in this store (FormatGeneration)
  MemberRecord self;
  RunRecord config;  // what all shards must agree on, and the number of this one

  std::string Key(const std::string& name) const { return MakeString(generation, "/", name); }
  std::string Key(const std::string& name, int shard) const {
    return MakeString(generation, "/", name, "/", shard);
  }
  // The value of the key "ready" (GoesOnWithout).
  std::string ready() const { return std::to_string(options.num_expendable); }
  // A shard whose heartbeat does not change for this long has failed.
  milliseconds silence_limit() const { return std::max(options.lease, options.silence); }
  // The lifetime of keys that heartbeats renew.
  milliseconds key_lifetime() const { return options.lease * 6; }
};

// What one shard has seen of the heartbeats of all shards.
struct HeartbeatWatch {
  explicit HeartbeatWatch(int num_shards) : heartbeats(static_cast<size_t>(num_shards)) {}
  std::vector<ChangeWatch> heartbeats;  // by shard
  std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
};

// From construction to Stop(), the thread renews the leases of the shard's keys (and sets them
// again if the store lost them), publishes the shard's status, and looks for failures. It has its
// own connection to the store. If the store cannot be reached, it logs one warning and goes on.
// Thread-safe.
class RunHeartbeat {
 public:
  RunHeartbeat(const StoreFactory& stores, RunPlace place);
  // Waits for the thread, so a callback must not call it.
  ~RunHeartbeat() { Stop(); }
  // Waits until the thread has ended, unless a callback calls it.
  void Stop();

  // Call it when all shards have joined: the thread then watches other shards and looks for
  // failures. `members` has one record for each shard.
  void SetComplete(const std::vector<MemberRecord>& members);

  // Wakes the thread for a change that a person waits for (RunMembership::UpdateStatus).
  void UpdateStatus(const ShardStatus& status);
  // Renews the lease of the key, and sets the key again to `value` (if there is one) if the store
  // loses it. TakeTracked() stops this for all keys and returns them.
  void Track(const std::string& key, const std::optional<std::string>& value);
  std::set<std::string> TakeTracked();
  // Sets the callback that the first of NoteFailure() and NoteUnconfirmed() calls, and calls it at
  // once if there is a failure already.
  void OnPeerLost(const std::function<void(const std::string&)>& callback);
  // Like RunMembership::OnStopWhileBlocked.
  void OnStopWhileBlocked(std::function<bool()> asked,
                          std::function<void(const std::string&)> give_up);
  bool gave_up() const { return gave_up_; }
  // Like RunMembership::NoteOthersDone.
  void NoteOthersDone() { others_done_ = true; }
  // Like StoreHandler::CheckWait, for a shard that connects to others: nothing is lost if it gives
  // up soon.
  void CheckWait(const std::string& awaited);
  // Logs the line, on which the shards agree, and calls the callback. Only the first call has an
  // effect. After a NoteUnconfirmed() it replaces the line, but does not call the callback again.
  void NoteFailure(const std::string& line);
  // The same for a line that this shard formed while the store was unreachable: another shard may
  // have another one.
  void NoteUnconfirmed(const std::string& line);
  // The line of the failure; empty if there is none.
  std::string failure() const;
  // True if there is a failure and NoteFailure() named it.
  bool confirmed() const;
  bool store_reachable() const { return store_reachable_; }
  // After its store has become unreachable, a process notices within this time that another process
  // has ended: two beats, each of which may wait for the store.
  milliseconds WatchTimeWithoutStore() const {
    return (place_.options.heartbeat + std::max(place_.options.lease / 4, milliseconds(1000))) * 2;
  }
  // This process's operations since the heartbeat began.
  CollectiveProgress Collective() const;
  // If the operation in progress has taken longer than a second, which is rare: the watch of all
  // shards that began after that second. Otherwise a watch that begins now.
  HeartbeatWatch WatchOfAll() const;
  // True if this process stood still for longer than a lease (it was stopped, or its machine slept)
  // and the run has failed or ended since. In that case it notes the failure, and this shard must
  // not write to the store any more. Only reads from the store. Throws IoError if the store fails.
  bool WasLeftBehind(StoreHandler* store);
  // The value of this shard's heartbeat key.
  std::string Text(int64_t count = 0) const;

 private:
  using TrackedKeys = std::map<std::string, std::optional<std::string>>;

  void Loop();
  // Notes once per heartbeat interval that the process runs. It never waits for the store, so only
  // a process that stood still leaves a gap.
  void Tick();
  bool WasSuspended() const;
  std::vector<MemberRecord> Members() const;
  void Beat(StoreHandler* store, int64_t count);
  // Until the next beat is due; publishes changes of the status meanwhile, unless the store is away
  // (`store` may be null). False if the thread is to end.
  bool WaitForBeat(StoreHandler* store);
  void Republish(StoreHandler* store, bool complete);
  void PublishStatus(StoreHandler* store);
  // On shard 0: names a straggler in the status, and once a minute in the log.
  void LookForStraggler(StoreHandler* store, const std::vector<MemberRecord>& members);
  ShardTimes Times() const;
  bool IsSaving() const;
  // Calls give_up_, unless that was done before.
  void GiveUp(const std::string& why);
  // Once this shard was asked to stop: looks for shards that let it wait in vain, unless some are
  // expendable. Without a store it looks only at the processes of this host.
  void LookForBlockedStop(StoreHandler* store);
  // Looks for a shard whose process on this host is gone, while the store is unreachable. A shard
  // that saves takes it for one that has left: others may have done their part, and cannot say so.
  // If it had not, the next collective operation fails and finds it, or Watch() does, once the
  // store is back and this shard has saved. If neither comes, nobody notices that it was lost.
  void WatchWithoutStore();
  // The shards that this one watches. If some shards die, at least one of them is watched by a live
  // shard.
  std::vector<int> Watched() const;
  void Watch(StoreHandler* store, int shard, const MemberRecord& member);
  // While a collective operation takes long: notes the heartbeats of all shards, so that whoever is
  // silent is known when it fails.
  void WatchAll(StoreHandler* store);
  void SetWatchOfAll(std::optional<HeartbeatWatch> watch);
  void NoteExpendableLost(StoreHandler* store, int shard, const std::string& line);
  // The same without the store, in a run with expendable shards, where waits have no limit: looks
  // for shards whose processes on this host have been stopped (SIGSTOP) for longer than
  // silence_limit(). Nobody can tell whether a silent shard on another host lives.
  void WatchStopped(const std::vector<MemberRecord>& members);
  // Writes down what WatchStopped() found, once the store is back.
  void TellUntold(StoreHandler* store);
  void EndForLost(StoreHandler* store, int shard);

  const StoreFactory stores_;
  const RunPlace place_;
  const int64_t collectives_before_;
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::atomic<bool> store_reachable_{true};
  std::atomic<bool> left_behind_{false};
  std::atomic<bool> gave_up_{false};
  std::atomic<bool> others_done_{false};
  std::atomic<std::chrono::steady_clock::time_point> last_tick_{std::chrono::steady_clock::now()};
  std::atomic<bool> gap_seen_{false};  // longer than a lease, and not yet looked into
  // By shard; used only by the thread.
  std::map<int, ChangeWatch> heartbeats_;
  std::set<int> lost_;  // expendable shards; used only by the thread
  // Used only by the thread: since when the processes of other shards are seen stopped without the
  // store; the last look; the lines of expendable shards that were lost meanwhile.
  std::map<int, std::chrono::steady_clock::time_point> stopped_;
  std::chrono::steady_clock::time_point looked_for_stopped_;
  std::map<int, std::string> untold_;
  std::set<int> left_;  // other shards, which have said that they leave; used only by the thread
  // Other shards, whose processes ended without the store while this shard saves: they may have
  // left. Used only by the thread.
  std::set<int> gone_while_saving_;
  // The store had lost this shard's member key, and not all tracked keys have been set again. Used
  // only by the thread.
  bool keys_lost_ = false;
  std::optional<StopPatience> patience_;  // since this shard was asked to stop; only the thread's
  // Used only by the thread.
  StragglerWatch straggler_watch_;
  std::string straggler_ = "none";  // for the status
  std::optional<std::chrono::steady_clock::time_point> straggler_logged_;

  mutable std::mutex mutex_;         // guards all members below but thread_
  std::condition_variable changed_;  // stop_ or is_news_
  bool stop_ = false;
  bool is_news_ = false;               // the status has a change to publish before the next beat
  std::vector<MemberRecord> members_;  // empty until all have joined
  ShardStatus status_;
  std::chrono::steady_clock::duration saved_for_{0};  // in earlier states "saving"
  std::chrono::steady_clock::time_point state_since_ = std::chrono::steady_clock::now();
  std::string failure_;
  bool confirmed_ = false;
  std::function<void(const std::string&)> on_peer_lost_;
  std::function<bool()> asked_to_stop_;
  std::function<void(const std::string&)> give_up_;
  std::optional<std::chrono::steady_clock::time_point> asked_at_;  // as CheckWait() has noticed
  std::optional<HeartbeatWatch> watch_of_all_;
  TrackedKeys tracked_;

  std::mutex give_up_mutex_;  // held while give_up_ runs

  std::thread ticker_, thread_;
};

}  // namespace caffe2
