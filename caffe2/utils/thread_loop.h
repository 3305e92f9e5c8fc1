// A loop on threads of its own, for work that waits for files or libraries. Arithmetic uses
// parallel.h.
#pragma once

#include <cstddef>
#include <functional>

namespace caffe2 {

// Calls body(i, thread) once for every i in [begin, end) on `num_threads` > 0 threads, numbered
// from 0, and waits for all. If bodies throw, the others still run, and then the error of the
// smallest i is thrown. Throws std::system_error if a thread cannot be started.
void ForEachOnThreads(size_t begin, size_t end, int num_threads,
                      const std::function<void(size_t i, int thread)>& body);

}  // namespace caffe2
