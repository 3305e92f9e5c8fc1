// Reading files that may have no end.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

namespace caffe2 {

// Returns the rest of a stream. Pipes and devices have no size, so the bytes are counted as they
// are read. If there are more than max_bytes, throws IoError (kBadData), "<name> has more than
// <max_bytes> bytes". The caller checks the stream for errors.
std::string ReadAtMost(int64_t max_bytes, const std::string& name, std::istream* stream);

}  // namespace caffe2
