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

RestartPolicy::RestartPolicy(int num_shards, int min_shards, int max_restarts,
                             std::vector<HostSlots> hosts)
    : num_shards_(num_shards),
      min_shards_(min_shards),
      restarts_left_(max_restarts),
      hosts_(std::move(hosts)) {}

RestartDecision RestartPolicy::Next(const std::string& host, int exit_status) {
  RestartDecision decision;
  if (!MayRetry(exit_status)) {
    decision.reason = MakeString("exit status ", exit_status, " (", DescribeExitStatus(exit_status),
                                 ") would come again");
    return decision;
  }
  if (restarts_left_ == 0) {
    decision.reason = "no restart is left (--max_restarts)";
    return decision;
  }
  --restarts_left_;
  decision.reason = "starting again";
  const auto known = std::find_if(hosts_.begin(), hosts_.end(),
                                  [&](const auto& each) { return each.host == host; });
  if (++failures_[host] >= kFailuresOfHost && hosts_.size() > 1 && known != hosts_.end()) {
    hosts_.erase(known);
    decision.reason += MakeString(" without ", host, ", where ", kFailuresOfHost, " tries failed");
  }
  decision.hosts = hosts_;
  decision.num_shards = hosts_.empty() ? num_shards_ : std::min(num_shards_, TotalSlots(hosts_));
  decision.restart = decision.num_shards >= min_shards_;
  if (!decision.restart) {
    decision.reason = MakeString("only ", decision.num_shards, " shards are possible without ",
                                 host, ", --min_shards is ", min_shards_);
  }
  return decision;
}

}  // namespace caffe2
