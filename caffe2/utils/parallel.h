// Parallel loops over OpenMP, the only threading runtime for numeric code in the process (oneDNN
// uses it too).
#pragma once

#include <cstdint>

namespace caffe2 {

namespace internal {
// ParallelFor with more than one part, not a template. body(data, begin, end) runs each part.
void ParallelForParts(int64_t n, int64_t grain, const void* data,
                      void (*body)(const void* data, int64_t begin, int64_t end));
}  // namespace internal

// Calls body(begin, end) for consecutive parts of [0, n), at most one for each thread. Parts have
// about the same size, at least grain / 2 elements; grain must be positive. Calls body(0, n) in
// this thread if n <= grain, and inside another parallel region. Each element belongs to exactly
// one part, but the parts depend on the number of threads: sum only into per-element results, or
// results differ between machines. Rethrows the first exception after all parts have ended.
template <typename Body>
void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  if (n <= grain) {  // common for small tensors: skips the OpenMP calls
    body(int64_t{0}, n);
    return;
  }
  internal::ParallelForParts(n, grain, &body, [](const void* data, int64_t begin, int64_t end) {
    (*static_cast<const Body*>(data))(begin, end);
  });
}

}  // namespace caffe2
