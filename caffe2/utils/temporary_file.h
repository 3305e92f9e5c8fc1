// Names of files that are written beside the one whose place they will take.
#pragma once

#include <string>

namespace caffe2 {

// True if `name` is `prefix` followed by the number of a process that does not run on this host.
bool IsOfDeadProcess(const std::string& name, const std::string& prefix);

// "<path>.tmp.<host>.<pid>", for a file or directory of this process. Removes what it finds under
// such names of processes of this host that are gone: they were killed before they could.
std::string TemporaryBeside(const std::string& path);

}  // namespace caffe2
