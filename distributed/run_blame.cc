#include "distributed/run_blame.h"

#include <cstdlib>

#include "distributed/run_record.h"

namespace caffe2 {

Culprit FindLaggingShard(int self, const CollectiveProgress& own,
                         const std::vector<std::string>& heartbeats) {
  int lagging = -1;
  CollectiveProgress behind = own, ahead = own;
  for (int shard = 0; shard < static_cast<int>(heartbeats.size()); ++shard) {
    RunRecord beat = ParseRecord(heartbeats[shard]).value_or(RunRecord());
    if (shard == self || !beat.count("collective")) continue;
    const CollectiveProgress progress{std::strtoll(beat["collective"].c_str(), nullptr, 10),
                                      beat["operation"]};
    if (progress.started < behind.started) {
      behind = progress;
      lagging = shard;
    }
    if (progress.started > ahead.started) ahead = progress;
  }
  if (lagging < 0) return {};
  return {lagging,
          MakeString("it does not take part in collective ", ahead.started, " (", ahead.operation,
                     "); its last one is ", behind.started, " (", behind.operation, ")")};
}

}  // namespace caffe2
