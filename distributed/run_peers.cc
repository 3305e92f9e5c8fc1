#include "distributed/run_peers.h"

#include <algorithm>
#include <thread>

#include "distributed/run_end.h"

namespace caffe2 {

void RunPeers::Extend(int num_shards) {
  peers_.resize(std::max(peers_.size(), static_cast<size_t>(num_shards)));
}

void RunPeers::Fetch(StoreHandler* store, int shard) {
  Peer& peer = peers_.at(shard);
  const auto text = store->TryGet(place_.Key("member", shard));
  peer.record = text ? MemberRecord::Parse(*text) : std::nullopt;
  if (!peer.record || peer.record->process.on_this_host()) return;
  if (const auto beat = store->TryGet(place_.Key("heartbeat", shard))) peer.heartbeat.Note(*beat);
}

const MemberRecord* RunPeers::Find(int shard) const {
  const auto& record = peers_.at(shard).record;
  return record ? &*record : nullptr;
}

std::string RunPeers::Describe(int shard) const {
  const MemberRecord* record = Find(shard);
  return MakeString("shard ", shard, record ? " (" + record->Describe() + ")" : "");
}

std::vector<MemberRecord> RunPeers::Members() const {
  std::vector<MemberRecord> members;
  for (const Peer& peer : peers_) members.push_back(*peer.record);
  return members;
}

RunPeers::Life RunPeers::LifeOf(int shard) const {
  const Peer& peer = peers_.at(shard);
  if (!peer.record) return Life::kDead;
  if (peer.record->process.on_this_host()) {
    return peer.record->process.IsAlive() ? Life::kAlive : Life::kDead;
  }
  if (peer.heartbeat.unchanged_for() > options().lease) return Life::kDead;
  return peer.heartbeat.alive() ? Life::kAlive : Life::kUnknown;
}

bool RunPeers::IsLive(StoreHandler* store, int shard) {
  const Deadline deadline(options().lease + options().heartbeat);
  while (true) {
    Fetch(store, shard);
    const Life life = LifeOf(shard);
    if (life != Life::kUnknown || deadline.expired()) return life == Life::kAlive;
    std::this_thread::sleep_for(kSlowestPoll);
  }
}

bool RunPeers::IsGone(int shard) const {
  const ProcessId& process = peers_.at(shard).record->process;
  return process.on_this_host() && !process.IsAlive();
}

std::vector<int> RunPeers::Missing(StoreHandler* store) {
  std::vector<int> missing;
  for (int shard = 0; shard < options().num_shards; ++shard) {
    if (shard == options().shard_id) continue;
    if (Find(shard) != nullptr && LifeOf(shard) == Life::kAlive) continue;
    Fetch(store, shard);
    if (LifeOf(shard) != Life::kAlive) missing.push_back(shard);
  }
  return missing;
}

}  // namespace caffe2
