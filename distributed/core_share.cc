#include "distributed/core_share.h"

#include <omp.h>

#include <algorithm>
#include <cstdlib>

#include "caffe2/core/logging.h"
#include "distributed/run_membership.h"

namespace caffe2 {
namespace {

bool Overlap(const CoreSet& a, const CoreSet& b) {
  if (a.empty() || b.empty()) return true;  // unknown cores
  return std::any_of(a.begin(), a.end(), [&](int core) { return b.count(core) > 0; });
}

}  // namespace

int CoreShare(const std::vector<MemberRecord>& members, int self, std::optional<double> quota) {
  const MemberRecord& own = members.at(self);
  int sharers = 0, in_container = 0;
  for (const MemberRecord& member : members) {
    if (member.process.boot_id != own.process.boot_id) continue;
    sharers += Overlap(member.cores, own.cores);
    in_container += member.process.pid_namespace == own.process.pid_namespace;
  }
  int share = static_cast<int>(own.cores.size()) / std::max(1, sharers);
  if (quota) share = std::min(share, static_cast<int>(*quota / std::max(1, in_container)));
  return std::max(1, share);
}

void UseCoreShare(const RunMembership& membership) {
  if (std::getenv("OMP_NUM_THREADS") != nullptr) return;
  const int share = membership.CoreShare();
  if (share >= omp_get_max_threads()) return;
  LOG(INFO) << "this shard computes on " << share << " of " << omp_get_max_threads()
            << " cores, which it shares with other shards of this machine";
  omp_set_num_threads(share);
}

}  // namespace caffe2
