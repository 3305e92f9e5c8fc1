// Divides the cores of a machine among its shards.
#pragma once

#include <optional>
#include <vector>

#include "distributed/run_record.h"

namespace caffe2 {

class RunMembership;

// The number of cores on which member `self` should compute, at least 1: the number of cores in its
// affinity mask, divided by the number of members of the same machine whose masks overlap with that
// mask; at most `quota` (CoreQuota) divided by the number of members in its container. So a member
// that a launcher has bound to its own cores keeps all of them.
int CoreShare(const std::vector<MemberRecord>& members, int self, std::optional<double> quota);

// Limits OpenMP loops of the calling thread to this shard's share of the cores, and logs the limit.
// Does nothing if OMP_NUM_THREADS is set or the shard need not share.
void UseCoreShare(const RunMembership& membership);

}  // namespace caffe2
