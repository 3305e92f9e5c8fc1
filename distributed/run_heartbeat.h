// The thread that keeps a shard's place in a run, and watches the next shard.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "distributed/run_membership.h"
#include "distributed/run_record.h"

namespace caffe2 {

// Which place of which run.
struct RunPlace {
  RunOptions options;
  int generation = 1;
  MemberRecord self;
  RunRecord config;

  std::string Key(const std::string& name) const { return MakeString(generation, "/", name); }
  std::string Key(const std::string& name, int shard) const {
    return MakeString(generation, "/", name, "/", shard);
  }
  // Of keys that heartbeats renew.
  milliseconds key_lifetime() const { return options.lease * 6; }
};

// From construction to Stop(): renews the leases of the shard's keys (and makes them anew if the
// store lost them), publishes its status, and looks for failures. The thread has a connection of
// its own; while the store cannot be reached it says so once and goes on. Methods may be called
// from any thread.
class RunHeartbeat {
 public:
  RunHeartbeat(const StoreFactory& stores, RunPlace place);
  ~RunHeartbeat() { Stop(); }
  void Stop();

  // All shards have joined: from now on the next shard is watched, and failures are looked for.
  void SetComplete(const std::vector<MemberRecord>& members);

  void UpdateStatus(const ShardStatus& status);
  // A key whose lease is to be renewed, and which is set anew if the store loses it (unless there
  // is no value); TakeTracked() ends that.
  void Track(const std::string& key, const std::optional<std::string>& value);
  std::set<std::string> TakeTracked();
  void OnPeerLost(std::function<void(const std::string&)> callback);
  // The first line counts: it is logged and given to the callback.
  void NoteFailure(const std::string& line);
  std::string failure() const;
  bool store_reachable() const { return store_reachable_; }
  // What this shard's heartbeat says.
  std::string Text(int64_t count = 0) const;

 private:
  using TrackedKeys = std::map<std::string, std::optional<std::string>>;

  void Loop();
  void Beat(StoreHandler* store, int64_t count);
  // True if the store had lost what this shard published.
  bool Republish(StoreHandler* store, bool complete);
  void PublishStatus(StoreHandler* store);
  void WatchNext(StoreHandler* store, const MemberRecord& next);

  const StoreFactory stores_;
  const RunPlace place_;
  std::atomic<bool> store_reachable_{true};
  ChangeWatch next_heartbeat_;  // of the thread alone

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable stop_changed_;
  bool stop_ = false;
  std::vector<MemberRecord> members_;  // empty until all have joined
  ShardStatus status_;
  std::string failure_;
  std::function<void(const std::string&)> on_peer_lost_;
  TrackedKeys tracked_;

  std::thread thread_;
};

}  // namespace caffe2
