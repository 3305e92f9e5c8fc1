// How the shards of one machine share its cores.
#pragma once

#include <optional>
#include <vector>

#include "distributed/run_record.h"

namespace caffe2 {

class RunMembership;

// The number of cores for member `self` to compute on, at least 1: the cores of its affinity mask
// divided by the number of members of the same machine whose masks overlap it; and at most `quota`
// (CoreQuota) divided by the number of members in its container. Members that a launcher has bound
// to cores of their own keep all of these.
int CoreShare(const std::vector<MemberRecord>& members, int self, std::optional<double> quota);

// Makes the OpenMP loops that the calling thread starts use this shard's share of the cores, and
// logs it if the shard shares them. OMP_NUM_THREADS counts more: then this does nothing.
void UseCoreShare(const RunMembership& membership);

}  // namespace caffe2
