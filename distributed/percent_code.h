// Decodes %XX, as in URLs.
#pragma once

#include <optional>
#include <string>

namespace caffe2 {

// Replaces every %XX by the byte that it stands for; nullopt if a % is not followed by two
// hexadecimal digits.
std::optional<std::string> PercentDecode(const std::string& text);

}  // namespace caffe2
