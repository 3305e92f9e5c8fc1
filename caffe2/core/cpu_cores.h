// The processor cores that this process may use. Linux only; all functions may be called from any
// thread.
#pragma once

#include <optional>
#include <set>
#include <string>

namespace caffe2 {

using CoreSet = std::set<int>;  // numbers of cores, from 0

// The cores in the calling thread's affinity mask. Empty if the system does not report them.
CoreSet AffinityCores();

// "0-3,8", as taskset writes it; "" for an empty set. ParseCores reads such a text. It returns an
// empty set for any other text, also for one with a number above 65535.
std::string FormatCores(const CoreSet& cores);
CoreSet ParseCores(const std::string& text);

// The CPU quota of this process in cores (2.5 means 2.5 seconds of processor time each second): the
// smallest quota of its control group (cgroup) and all groups above it. Empty without a quota.
// Reads cgroups of versions 1 and 2. `mount` is their mount point. `own_groups` is the file that
// lists the groups of this process.
std::optional<double> CoreQuota(const std::string& mount = "/sys/fs/cgroup",
                                const std::string& own_groups = "/proc/self/cgroup");

// Number of cores that this process can keep busy: the size of its affinity mask, but at most the
// quota rounded up. At least 1.
int AvailableCores();

}  // namespace caffe2
