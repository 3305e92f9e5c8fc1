// Files with passwords and secrets.
#pragma once

#include <string>

namespace caffe2 {

// The first line of a file with a secret. `what` says what the file is ("the password file"), for
// messages. Throws IoError if the file cannot be read or is empty (kNoInput), or if its mode lets
// everybody read or write it (kNotPermitted).
std::string ReadPrivateFile(const std::string& path, const std::string& what);

}  // namespace caffe2
