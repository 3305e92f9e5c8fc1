#include "distributed/run_blame.h"

#include <cstdlib>

#include "distributed/run_record.h"

namespace caffe2 {

Culprit FindShardBehind(int self, const CollectiveProgress& own,
                        const std::vector<std::string>& heartbeats) {
  int shard_behind = -1;
  CollectiveProgress behind = own, ahead = own;
  for (int shard = 0; shard < static_cast<int>(heartbeats.size()); ++shard) {
    RunRecord beat = ParseRecord(heartbeats[shard]).value_or(RunRecord());
    if (shard == self || !beat.count("collective")) continue;
    const CollectiveProgress progress{std::strtoll(beat["collective"].c_str(), nullptr, 10),
                                      beat["operation"]};
    if (progress.started < behind.started) {
      behind = progress;
      shard_behind = shard;
    }
    if (progress.started > ahead.started) ahead = progress;
  }
  if (shard_behind < 0) return {};
  return {shard_behind,
          MakeString("it does not take part in collective ", ahead.started, " (", ahead.operation,
                     "); its last one is ", behind.started, " (", behind.operation, ")")};
}

}  // namespace caffe2
