// Operators whose CUDA version takes other element types than the CPU version.
#pragma once

#include <map>
#include <set>
#include <string>

namespace caffe2::testing {

struct TypeDifference {
  std::set<std::string> only_cuda, only_cpu;
  std::string why;
};
// By operator type; for device_types_test.cc.
const std::map<std::string, TypeDifference>& DeviceTypeDifferences();

}  // namespace caffe2::testing
