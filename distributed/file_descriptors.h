// The limit of open files of this process.
#pragma once

#include <cstdint>

namespace caffe2 {

// Makes sure that the process can open `count` more files and sockets: raises its own limit
// (RLIMIT_NOFILE, up to the hard limit) where it is too low. Throws IoError, which says what
// `purpose` needs and how to allow it, if the hard limit is too low. Thread-safe.
void ReserveFileDescriptors(int64_t count, const char* purpose);

}  // namespace caffe2
