#include "distributed/run_end.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "caffe2/core/logging.h"
#include "distributed/run_record.h"

namespace caffe2 {
namespace {

using Clock = std::chrono::steady_clock;

// The number in the store may be anything: keys of at most this many old generations are removed.
constexpr int kMaxRemovedGenerations = 1000;

}  // namespace

void RunEnd::LeaveTogether(const std::function<bool(int)>& is_gone) {
  const Deadline deadline(options().exit_timeout);
  // A restarted store has lost this key; without it, other shards think that this one has left.
  const std::string member = place_.Key("member", options().shard_id);
  store_->SetIfAbsent(member, place_.self.Format());
  store_->Expire(member, place_.key_lifetime());
  AnnounceLeaving();
  store_->SetIfAbsent(place_.Key("left", options().shard_id), "1");
  store_->Expire(place_.Key("left", options().shard_id), place_.key_lifetime());
  WaitForOthersToLeave(is_gone, deadline);
}

void RunEnd::WithdrawOwnKeys() {
  heartbeat_->Stop();
  published_ = heartbeat_->TakeTracked();
  for (const std::string& key : published_) {
    store_->Remove(key);
    if (options().num_expendable == 0) continue;
    // Here worlds are pairs, and only this shard knows the address that its dead partner left.
    for (const int rank : {0, 1}) {
      store_->Remove(MakeString(key.substr(0, key.rfind('/')), "/", rank));
    }
  }
  store_->Remove(MakeString("status/", options().shard_id));
  store_->Remove(place_.Key("heartbeat", options().shard_id));
  store_->Remove(place_.Key("member", options().shard_id));
}

void RunEnd::EndInStore(bool ends_run) {
  if (options().on_end && ends_run) options().on_end(heartbeat_->failure());
  WithdrawOwnKeys();
  const std::string ended = place_.Key("ended");
  const int64_t count = store_->Add(ended, 1);
  store_->Expire(ended, place_.key_lifetime());
  if (count < options().num_shards) return;
  AnnounceLeaving();
  RemoveSharedKeys();
}

// Removes the shared keys of a run that has ended, and the keys of the generations before it unless
// a new run, which may need them, has begun. Removes "leaving" last: a new run waits while it
// exists.
void RunEnd::RemoveSharedKeys() {
  const auto hint = store_->TryGet("generation");
  if (!hint || ParseGeneration(*hint) <= place_.generation) {
    for (int old = std::max(1, place_.generation - kMaxRemovedGenerations); old < place_.generation;
         ++old) {
      RemoveGenerationKeys(old);
      store_->Remove(MakeString(old, "/leaving"));
      store_->RemoveLeftovers(MakeString(old, "/"));
    }
    store_->Remove("generation");
  }
  RemoveGenerationKeys(place_.generation);
  store_->Remove(place_.Key("leaving"));
}

// An earlier generation may have had more shards.
void RunEnd::RemoveGenerationKeys(int generation) {
  RunPlace place = place_;
  place.generation = generation;
  const std::string config = store_->TryGet(place.Key("config")).value_or("");
  const int shards = std::max(options().num_shards, ShardsOfConfig(config));
  for (int shard = 0; shard < shards; ++shard) {
    if (shard >= options().num_shards) store_->Remove(MakeString("status/", shard));
    for (const char* name : {"left", "lost", "heartbeat", "member"}) {
      store_->Remove(place.Key(name, shard));
    }
    // Dead shards have published addresses for the same common worlds as this shard.
    for (const std::string& key : published_) {
      const std::string name = key.substr(key.find('/') + 1);
      store_->Remove(place.Key(name));
      store_->Remove(place.Key(name.substr(0, name.rfind('/')), shard));
    }
  }
  for (const char* name : {"config", "ready", "ended", "failure"}) store_->Remove(place.Key(name));
}

void RunEnd::AnnounceLeaving() {
  store_->SetIfAbsent(place_.Key("leaving"),
                      MemberRecord{place_.self.process, NowMs() / 1000}.Format());
  store_->Expire(place_.Key("leaving"), place_.key_lifetime());
}

// A shard has left once its key "left" exists or its record is gone. Returns early if the run
// fails.
void RunEnd::WaitForOthersToLeave(const std::function<bool(int)>& is_gone,
                                  const Deadline& deadline) {
  auto next_progress = Clock::now() + kProgressEvery;
  auto next_renewal = Clock::now() + place_.key_lifetime() / 3;
  for (milliseconds pause = kFirstPoll;; pause = std::min(pause * 2, kSlowestPoll)) {
    if (Clock::now() >= next_renewal) {
      next_renewal += place_.key_lifetime() / 3;
      store_->Expire(place_.Key("left", options().shard_id), place_.key_lifetime());
    }
    std::vector<int> staying;
    for (int shard = 0; shard < options().num_shards; ++shard) {
      if (shard < options().num_expendable && is_gone(shard)) continue;
      if (!store_->Check({place_.Key("left", shard)}) &&
          store_->Check({place_.Key("member", shard)})) {
        staying.push_back(shard);
      }
    }
    if (staying.empty() || !heartbeat_->failure().empty() || heartbeat_->gave_up()) return;
    if (deadline.expired()) {
      LOG(WARNING) << "run " << options().run_id
                   << " goes on without this shard: " << ListOfShards(staying)
                   << " did not end within " << options().exit_timeout.count() << " ms";
      return;
    }
    if (Clock::now() >= next_progress) {
      next_progress += kProgressEvery;
      LOG(INFO) << "run " << options().run_id << ": waiting for the end of "
                << ListOfShards(staying);
    }
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace caffe2
