// Reading files that may have no end.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace caffe2 {

// The rest of a stream. Pipes and devices have no size, so the bytes are counted while they are
// read: throws IoError (bad data), "<name> has more than <max_bytes> bytes", if there are more. The
// caller checks the stream for errors.
std::string ReadAtMost(int64_t max_bytes, const std::string& name, std::istream* stream);

}  // namespace caffe2
