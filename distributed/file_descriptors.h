// The limit of open files of this process.
#pragma once

#include <cstdint>

namespace caffe2 {

// Makes sure that the process can open `count` more files and sockets: if its limit (RLIMIT_NOFILE)
// is too low, raises it, at most to the hard limit. Throws IoError if the hard limit is too low;
// the text says how many files `purpose` needs and how to allow them. Thread-safe.
void ReserveFileDescriptors(int64_t count, const char* purpose);
// The same for the connections of a common world of `size` shards. Connecting calls it. A process
// that first waits for the other shards calls it before that wait, so that it fails at once if its
// limit is too low.
void ReserveFilesOfWorld(int size);

}  // namespace caffe2
