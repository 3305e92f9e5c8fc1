// Why operators have no CUDA version.
#pragma once

#include <map>
#include <string>

namespace caffe2::testing {

// Every operator type that has a CPU version and none for CUDA devices, and the reason. With a
// CUDA device the host does the work of those whose operands are tensors (HostFallbackOp); others
// must be placed on the host.
const std::map<std::string, std::string>& HostOperators();

}  // namespace caffe2::testing
