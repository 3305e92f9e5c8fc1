// Parallel loops over OpenMP, the only threading runtime for numeric code in the process (oneDNN
// uses it too).
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <exception>

namespace caffe2 {

// Calls body(begin, end) for consecutive parts of [0, n), at most one for each thread. Each part
// except the last has at least `grain` elements. Calls body(0, n) in this thread if n <= grain, and
// inside another parallel region. Each element belongs to exactly one part, but the parts depend on
// the number of threads: sum only into per-element results, or results differ between machines.
// Rethrows the first exception after all parts have ended.
template <typename Body>
void ParallelFor(int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  if (n <= grain) {  // common for small tensors: skips the OpenMP calls
    body(int64_t{0}, n);
    return;
  }
  const int64_t max_parts = (n + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), max_parts));
  if (threads <= 1 || omp_in_parallel()) {
    body(int64_t{0}, n);
    return;
  }
  std::exception_ptr error;
#pragma omp parallel num_threads(threads)
  {
    const int64_t parts = omp_get_num_threads();
    const int64_t part = omp_get_thread_num();
    const int64_t begin = n * part / parts, end = n * (part + 1) / parts;
    try {
      if (begin < end) body(begin, end);
    } catch (...) {
#pragma omp critical(caffe2_parallel_for)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace caffe2
