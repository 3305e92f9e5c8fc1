// %XX in place of a byte, as in URLs.
#pragma once

#include <optional>
#include <string>

namespace caffe2 {

// Every %XX of the text as the byte that it stands for; empty if a % is not followed by two
// hexadecimal digits.
std::optional<std::string> PercentDecode(const std::string& text);

}  // namespace caffe2
