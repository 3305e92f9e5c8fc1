// Numbers as people read them.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// "1.5 GiB", "17 B".
std::string HumanBytes(int64_t bytes);
// "1,234,567".
std::string Grouped(int64_t number);

}  // namespace caffe2
