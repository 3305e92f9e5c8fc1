// Numbers in a form that is easy to read.
#pragma once

#include <cstdint>
#include <string>

namespace caffe2 {

// "1.5 GiB", "17 B".
std::string HumanBytes(int64_t bytes);
// "1,234,567".
std::string Grouped(int64_t number);

}  // namespace caffe2
