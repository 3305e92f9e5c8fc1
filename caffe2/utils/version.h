// Which build this is.
#pragma once

#include <string>

namespace caffe2 {

// "0.1.0".
std::string Version();
// The first 12 digits of the commit that was checked out when the library was built; empty if the
// sources were not a git checkout.
std::string Commit();
// "0.1.0 (commit 0123456789ab)", or only the version.
std::string VersionAndCommit();
// Lines "name: value" of the options of the build: type, compiler, CUDA, NCCL, sanitizers.
std::string BuildOptions();

}  // namespace caffe2
