#include "distributed/run_blame.h"

#include <cmath>
#include <cstdlib>
#include <utility>

#include "caffe2/utils/waiting_time.h"
#include "distributed/run_record.h"

namespace caffe2 {
namespace {

// Of a heartbeat, which others may have written.
std::string ActivityOf(const RunRecord& beat) {
  constexpr size_t kMaxShown = 80;
  const auto found = beat.find("doing");
  if (found == beat.end() || found->second.empty()) return "";
  return "; it " + OneLine(found->second).substr(0, kMaxShown);
}

}  // namespace

std::string CurrentActivity() {
  const std::pair<WaitFor, const char*> activities[] = {
      {WaitFor::kInput, "waits for its input"},
      {WaitFor::kSave, "saves"},
      {WaitFor::kLog, "writes its log"},
      {WaitFor::kShards, "takes part in a collective operation"}};
  for (const auto& [wait, words] : activities) {
    const double seconds = CurrentWaitSeconds(wait);
    if (seconds > 0) return MakeString(words, ", for ", std::lround(seconds), " s");
  }
  return "computes";
}

Culprit FindLaggingShard(int self, const CollectiveProgress& own,
                         const std::vector<std::string>& heartbeats) {
  int lagging = -1;
  CollectiveProgress behind = own, ahead = own;
  std::string activity;
  for (int shard = 0; shard < static_cast<int>(heartbeats.size()); ++shard) {
    RunRecord beat = ParseRecord(heartbeats[shard]).value_or(RunRecord());
    if (shard == self || !beat.count("collective")) continue;
    const CollectiveProgress progress{std::strtoll(beat["collective"].c_str(), nullptr, 10),
                                      beat["operation"]};
    if (progress.started < behind.started) {
      behind = progress;
      lagging = shard;
      activity = ActivityOf(beat);
    }
    if (progress.started > ahead.started) ahead = progress;
  }
  if (lagging < 0) return {};
  return {lagging,
          MakeString("it does not take part in collective ", ahead.started, " (", ahead.operation,
                     "); its last one is ", behind.started, " (", behind.operation, ")", activity)};
}

}  // namespace caffe2
