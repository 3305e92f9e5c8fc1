// Parses lists of hosts in Slurm's format.
#pragma once

#include <string>
#include <vector>

namespace caffe2 {

// Expands "n[1-3,07-09,12],m5" to n1, n2, n3, n07, n08, n09, n12 and m5. Throws UsageError, which
// names `variable`, for a list that is malformed, empty or has more than 65536 hosts.
std::vector<std::string> ExpandHostList(const std::string& variable, const std::string& list);

// Splits a list at the commas outside brackets. Throws UsageError, which names `variable`, if
// brackets do not match.
std::vector<std::string> SplitHostList(const std::string& variable, const std::string& list);

}  // namespace caffe2
