// The store that a run gives to its common worlds.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "distributed/prefix_store_handler.h"
#include "distributed/run_heartbeat.h"

namespace caffe2 {

// Tracks the keys of a generation that are set through it, so that the heartbeat renews them and
// the end of the run removes them. The heartbeat must outlive it. Not thread-safe.
class TrackingStore final : public PrefixStoreHandler {
 public:
  TrackingStore(std::unique_ptr<StoreHandler> base, const RunPlace& place, RunHeartbeat* heartbeat)
      : PrefixStoreHandler(std::move(base), std::to_string(place.generation)),
        place_(place),
        heartbeat_(heartbeat) {}

  bool SetIfAbsent(const std::string& key, const std::string& value) override {
    const bool made = PrefixStoreHandler::SetIfAbsent(key, value);
    if (made) Note(key, value);
    return made;
  }
  void Put(const std::string& key, const std::string& value, milliseconds lifetime) override {
    PrefixStoreHandler::Put(key, value, lifetime);
    Note(key, value);
  }
  int64_t Add(const std::string& key, int64_t delta) override {
    const int64_t sum = PrefixStoreHandler::Add(key, delta);
    Note(key, std::nullopt);  // no value: each shard knows only a part of the sum
    return sum;
  }
  void CheckWait(const std::string& awaited) override { heartbeat_->CheckWait(awaited); }

 private:
  void Note(const std::string& key, const std::optional<std::string>& value) {
    heartbeat_->Track(place_.Key(key), value);
    Expire(key, place_.key_lifetime());
  }

  const RunPlace place_;
  RunHeartbeat* heartbeat_;
};

}  // namespace caffe2
