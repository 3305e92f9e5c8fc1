#include "distributed/run_inspection.h"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "distributed/run_membership.h"

namespace caffe2 {
namespace {

constexpr milliseconds kPoll{250};
// The keys of a store may be anything: so many shards are shown at most.
constexpr int64_t kMaxShards = 4096;

// The number of shards, from the configuration and the keys "status/<n>",
// "<generation>/member/<n>".
size_t CountShards(const std::vector<std::string>& keys, int generation,
                   const std::string& config) {
  const auto number = [](const std::string& text) {
    return std::clamp<int64_t>(std::atoll(text.c_str()), 0, kMaxShards - 1);
  };
  int64_t count = number(ParseRecord(config).value_or(RunRecord())["num_shards"]);
  for (const std::string& prefix : {std::string("status/"), MakeString(generation, "/member/")}) {
    for (const std::string& key : keys) {
      if (key.rfind(prefix, 0) == 0) count = std::max(count, number(key.substr(prefix.size())) + 1);
    }
  }
  return static_cast<size_t>(count);
}

int64_t CollectiveOf(const ShardView& shard) {
  const auto found = shard.heartbeat.find("collective");
  return found == shard.heartbeat.end() ? 0 : std::atoll(found->second.c_str());
}

// A shard waits for those whose number of collectives is smaller than its own.
void FindWaits(std::vector<ShardView>* shards) {
  for (ShardView& shard : *shards) {
    for (size_t other = 0; other < shards->size(); ++other) {
      if (shard.heartbeat.empty() || (*shards)[other].heartbeat.empty()) continue;
      if (CollectiveOf((*shards)[other]) < CollectiveOf(shard)) {
        shard.waits_for.push_back(static_cast<int>(other));
      }
    }
  }
}

}  // namespace

ShardLife RunView::life() const {
  if (!readable) return ShardLife::kUnknown;
  const auto is = [](ShardLife life) {
    return [life](const ShardView& shard) { return shard.life == life; };
  };
  if (std::any_of(shards.begin(), shards.end(), is(ShardLife::kAlive))) return ShardLife::kAlive;
  if (std::all_of(shards.begin(), shards.end(), is(ShardLife::kDead))) return ShardLife::kDead;
  return ShardLife::kUnknown;
}

std::vector<std::string> RunInspector::RunIds() {
  std::vector<std::string> ids;
  for (const std::string& id : browser_->RunIds()) {
    try {
      CheckRunId(id);
      ids.push_back(id);
    } catch (const EnforceNotMet&) {  // another program's key
    }
  }
  return ids;
}

ShardLife RunInspector::LifeOf(const MemberRecord& member, const std::string& key,
                               const std::string& heartbeat) {
  if (member.process.on_this_host()) {
    return member.process.IsAlive() ? ShardLife::kAlive : ShardLife::kDead;
  }
  ChangeWatch& watch = heartbeats_[key];
  if (!heartbeat.empty()) watch.Note(heartbeat);  // one that expires is no sign of life
  const RunOptions usual;
  if (watch.unchanged_for() > usual.lease) return ShardLife::kDead;
  return watch.alive() ? ShardLife::kAlive : ShardLife::kUnknown;
}

RunView RunInspector::Read(const std::string& run_id) {
  CheckRunId(run_id);
  const auto store = stores_(run_id);
  RunView run;
  run.run_id = run_id;
  const std::vector<std::string> keys = browser_->Keys(run_id);
  const std::string generation = store->TryGet("generation").value_or("1");
  run.readable =
      generation == FormatGeneration(ParseGeneration(generation), ParseRunToken(generation));
  if (!run.readable) return run;
  run.generation = ParseGeneration(generation);
  if (const auto failure = FindFailure(store.get(), run.generation)) run.failure = failure->line;
  const std::string config = store->TryGet(MakeString(run.generation, "/config")).value_or("");
  run.shards.resize(CountShards(keys, run.generation, config));
  for (size_t s = 0; s < run.shards.size(); ++s) {
    ShardView& shard = run.shards[s];
    const auto member = store->TryGet(MakeString(run.generation, "/member/", s));
    if (member) shard.member = MemberRecord::Parse(*member);
    const std::string beat =
        store->TryGet(MakeString(run.generation, "/heartbeat/", s)).value_or("");
    shard.heartbeat = ParseRecord(beat).value_or(RunRecord());
    shard.status = browser_->Fields(run_id, MakeString("status/", s));
    if (!member) shard.life = ShardLife::kDead;
    if (shard.member) {
      shard.life = LifeOf(*shard.member, MakeString(run_id, "/", run.generation, "/", s), beat);
    }
  }
  FindWaits(&run.shards);
  return run;
}

std::vector<RunView> RunInspector::Watch(const std::vector<std::string>& run_ids,
                                         milliseconds limit) {
  const Deadline deadline(limit);
  while (true) {
    std::vector<RunView> runs;
    for (const std::string& id : run_ids) runs.push_back(Read(id));
    const bool known = std::none_of(runs.begin(), runs.end(), [](const RunView& run) {
      return run.life() == ShardLife::kUnknown;
    });
    if (known || deadline.expired()) return runs;
    std::this_thread::sleep_for(std::min(kPoll, deadline.remaining()));
  }
}

size_t RunInspector::Remove(const std::string& run_id) {
  const auto store = stores_(run_id);
  const std::vector<std::string> keys = browser_->Keys(run_id);
  for (const std::string& key : keys) store->Remove(key);
  store->RemoveLeftovers("");
  return keys.size();
}

}  // namespace caffe2
