// Names of temporary files, which lie beside the file that they will replace.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// True if `name` begins with `prefix` and the number of a process that does not run on this host,
// as far as this process sees: in a container only its own processes. More text may follow.
bool IsOfDeadProcess(const std::string& name, const std::string& prefix);

// ".tmp.<host>.<pid>": how the names of a process's temporary files end.
std::string TemporarySuffix(const std::string& host, int64_t pid);

// "<path>.tmp.<host>.<pid>", for a file or directory of this process. Removes such files of
// processes of this host that no longer run: they were killed before they could clean up.
std::string TemporaryPath(const std::string& path);

}  // namespace caffe2
