// Writes large results past the caches.
#pragma once

#include <cstdint>

namespace caffe2 {

// Results of fewer bytes are written as usual: what comes next finds some of them in the caches.
constexpr int64_t kMinStreamedBytes = int64_t{12} << 20;

// to[i] = from[i] for n bytes, which nothing reads soon. A plain store first reads the line that it
// changes, and the line takes the place of another one in the caches; this avoids both where the
// processor can. Other threads may see the bytes only after FinishStreams in this thread.
void StreamBytes(int64_t n, const void* from, void* to);
void FinishStreams();

}  // namespace caffe2
