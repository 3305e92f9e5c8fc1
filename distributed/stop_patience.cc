#include "distributed/stop_patience.h"

#include <utility>

#include "distributed/run_blame.h"

namespace caffe2 {

namespace {

constexpr int kSilentLooks = 3;

}  // namespace

StopPatience::StopPatience(std::vector<MemberRecord> members, int self)
    : members_(std::move(members)),
      self_(self),
      heartbeats_(members_.size()),
      silent_looks_(members_.size()) {}

std::string StopPatience::Describe(int shard) const {
  return MakeString("shard ", shard, " (", members_[shard].Describe(), ")");
}

std::string StopPatience::LookAtProcesses() const {
  for (int shard = 0; shard < static_cast<int>(members_.size()); ++shard) {
    const ProcessId& process = members_[shard].process;
    if (shard != self_ && process.on_this_host() && process.IsStopped()) {
      return Describe(shard) + ", whose process is stopped";
    }
  }
  return "";
}

std::string StopPatience::LookAtHeartbeats(const std::vector<std::string>& heartbeats,
                                           const CollectiveProgress& own) {
  for (int shard = 0; shard < static_cast<int>(members_.size()); ++shard) {
    // Not by time alone: a store that did not answer for a while held all heartbeats back.
    const bool changed = heartbeats_[shard].value() != heartbeats[shard];
    silent_looks_[shard] = changed ? 0 : silent_looks_[shard] + 1;
    heartbeats_[shard].Note(heartbeats[shard]);
    const milliseconds silent = heartbeats_[shard].unchanged_for();
    if (shard != self_ && silent > kSilence && silent_looks_[shard] >= kSilentLooks) {
      return MakeString(Describe(shard), ", without a sign of life for ", silent.count(), " ms");
    }
  }
  operation_.Note(std::to_string(own.started));
  if (operation_.unchanged_for() < kOneOperation) return "";
  const Culprit behind = FindLaggingShard(self_, own, heartbeats);
  return behind.shard < 0 ? "" : MakeString(Describe(behind.shard), ": ", behind.cause);
}

}  // namespace caffe2
