#include "distributed/launcher/restart_policy.h"

#include <algorithm>

#include "caffe2/core/exit_code.h"

namespace caffe2 {

bool MayRetry(int exit_status) {
  switch (static_cast<ExitCode>(exit_status)) {
    case ExitCode::kDone:
    case ExitCode::kUsage:
    case ExitCode::kBadData:
    case ExitCode::kNoInput:
    case ExitCode::kCannotWrite:
    case ExitCode::kDisagreement:
    case ExitCode::kNotPermitted:
      return false;
    default:
      return true;
  }
}

RestartPolicy::RestartPolicy(int max_shards, int min_shards, int max_restarts,
                             std::vector<HostSlots> hosts)
    : max_shards_(max_shards),
      min_shards_(min_shards),
      restarts_left_(max_restarts),
      hosts_(std::move(hosts)) {}

void RestartPolicy::SetHosts(std::vector<HostSlots> hosts) {
  hosts_ = std::move(hosts);
  std::set<std::string> listed;
  for (const HostSlots& each : hosts_) listed.insert(each.host);
  std::erase_if(failures_, [&](const auto& each) { return listed.count(each.first) == 0; });
  std::erase_if(left_out_, [&](const auto& each) { return listed.count(each) == 0; });
  if (UsableHosts().empty()) {
    failures_.clear();
    left_out_.clear();
  }
}

std::vector<HostSlots> RestartPolicy::UsableHosts() const {
  std::vector<HostSlots> usable = hosts_;
  std::erase_if(usable, [&](const HostSlots& each) { return left_out_.count(each.host) != 0; });
  return usable;
}

int RestartPolicy::PossibleShards() const {
  return hosts_.empty() ? max_shards_ : std::min(max_shards_, TotalSlots(UsableHosts()));
}

RestartDecision RestartPolicy::Next(const std::string& host, int exit_status) {
  RestartDecision decision;
  if (!MayRetry(exit_status)) {
    decision.reason = MakeString("exit status ", exit_status, " (", DescribeExitStatus(exit_status),
                                 ") would recur");
    return decision;
  }
  if (restarts_left_ == 0) {
    decision.reason = "no restart is left (--max_restarts)";
    return decision;
  }
  --restarts_left_;
  decision.reason = "starting again";
  decision.hosts = UsableHosts();
  const auto known = std::find_if(decision.hosts.begin(), decision.hosts.end(),
                                  [&](const auto& each) { return each.host == host; });
  if (++failures_[host] >= kFailuresOfHost && decision.hosts.size() > 1 &&
      known != decision.hosts.end()) {
    left_out_.insert(host);
    decision.hosts.erase(known);
    decision.reason += MakeString(" without ", host, ", where ", kFailuresOfHost, " tries failed");
  }
  decision.num_shards = PossibleShards();
  decision.restart = decision.num_shards >= min_shards_;
  if (!decision.restart) {
    decision.reason = MakeString("only ", decision.num_shards, " shards are possible",
                                 left_out_.count(host) == 0 ? "" : " without " + host,
                                 ", --min_shards is ", min_shards_);
  }
  return decision;
}

}  // namespace caffe2
