// Decides whether a run is started again, where, and with how many shards.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "distributed/launcher/host_slots.h"

namespace caffe2 {

// True if another attempt may succeed (docs/launchers.md, "Exit codes").
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
  // After this many failures a host is left out, unless it is the last one.
  static constexpr int kFailuresOfHost = 2;

  // Allows `max_restarts` restarts, each with `min_shards` to `max_shards` shards. `hosts` may be
  // empty: then another launcher chooses them.
  RestartPolicy(int max_shards, int min_shards, int max_restarts, std::vector<HostSlots> hosts);

  // Takes the hosts that a host file lists now, at least one. The failures of a host that it does
  // not list are forgotten: a host that is taken out and put back later is used again. If it lists
  // only hosts that were left out, all of them are used again.
  void SetHosts(std::vector<HostSlots> hosts);
  // The hosts that are not left out, and the number of shards for them, at most `max_shards`.
  std::vector<HostSlots> UsableHosts() const;
  int PossibleShards() const;

  // Decides what follows an attempt that failed with this status, perhaps because of `host`.
  RestartDecision Next(const std::string& host, int exit_status);

 private:
  const int max_shards_, min_shards_;
  int restarts_left_;
  std::vector<HostSlots> hosts_;
  std::map<std::string, int> failures_;  // by host
  std::set<std::string> left_out_;
};

}  // namespace caffe2
