// Decides whether a failed run is started again, and where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "distributed/launcher/host_slots.h"

namespace caffe2 {

// True if another try may succeed (docs/launchers.md, "Exit codes").
bool MayRetry(int exit_status);

struct RestartDecision {
  bool restart = false;
  std::string reason;  // one line
  int num_shards = 0;
  std::vector<HostSlots> hosts;
};

// Not thread-safe.
class RestartPolicy {
 public:
  static constexpr int kFailuresOfHost = 2;  // then it is left out

  // At most `max_restarts` restarts, each with at least `min_shards` shards. `hosts` may be empty:
  // then another launcher chooses them.
  RestartPolicy(int num_shards, int min_shards, int max_restarts, std::vector<HostSlots> hosts);

  // A try failed with this status, and the shard on `host` may be at fault.
  RestartDecision Next(const std::string& host, int exit_status);

 private:
  const int num_shards_, min_shards_;
  int restarts_left_;
  std::vector<HostSlots> hosts_;
  std::map<std::string, int> failures_;  // by host
};

}  // namespace caffe2
