#include "caffe2/utils/version.h"

#include "version/version_commit.h"
#include "version/version_options.h"

namespace caffe2 {

std::string Version() { return CAFFE2_VERSION; }

std::string Commit() { return CAFFE2_COMMIT; }

std::string VersionAndCommit() {
  return Commit().empty() ? Version() : Version() + " (commit " + Commit() + ")";
}

std::string BuildOptions() {
  return "build type: " CAFFE2_BUILD_TYPE "\ncompiler: " CAFFE2_COMPILER
         "\nCUDA: " CAFFE2_CUDA_OPTIONS "\nNCCL: " CAFFE2_NCCL "\nsanitizers: " CAFFE2_SANITIZERS
         "\n";
}

}  // namespace caffe2
