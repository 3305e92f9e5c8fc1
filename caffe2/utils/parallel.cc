#include "caffe2/utils/parallel.h"

#include <omp.h>
#include <pthread.h>

#include <algorithm>
#include <exception>

namespace caffe2::internal {

namespace {

// A forked process has the calling thread alone, but OpenMP would wait there for the other threads
// of its pool. So the pool ends before a fork; both processes make a new one when they need it.
// Other threads, such as the ones of a net of type dag, do not exist there either.
[[maybe_unused]] const int fork_handler =
    pthread_atfork([] { omp_pause_resource_all(omp_pause_hard); }, nullptr, nullptr);

}  // namespace

void ParallelForParts(int64_t n, int64_t grain, const void* data,
                      void (*body)(const void* data, int64_t begin, int64_t end)) {
  const int64_t max_parts = (n + grain - 1) / grain;
  const int threads = static_cast<int>(std::min<int64_t>(omp_get_max_threads(), max_parts));
  if (threads <= 1 || omp_in_parallel()) {
    body(data, 0, n);
    return;
  }
  std::exception_ptr error;
#pragma omp parallel num_threads(threads)
  {
    const int64_t parts = omp_get_num_threads();
    const int64_t part = omp_get_thread_num();
    const int64_t begin = n * part / parts, end = n * (part + 1) / parts;
    try {
      if (begin < end) body(data, begin, end);
    } catch (...) {
#pragma omp critical(caffe2_parallel_for)
      if (!error) error = std::current_exception();
    }
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace caffe2::internal
