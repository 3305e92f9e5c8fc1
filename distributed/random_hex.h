// Random text.
#pragma once

#include <string>

namespace caffe2 {

// 2 * `bytes` lower-case hexadecimal digits from the system's source of random numbers. Nobody can
// guess them. Any thread may call it.
std::string RandomHex(int bytes);

}  // namespace caffe2
