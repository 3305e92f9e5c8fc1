#include "caffe2/utils/thread_loop.h"

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace caffe2 {

void ForEachOnThreads(size_t begin, size_t end, int num_threads,
                      const std::function<void(size_t i, int thread)>& body) {
  std::vector<std::exception_ptr> errors(end - begin);
  std::atomic<size_t> next{begin};
  std::vector<std::jthread> threads;  // if one cannot be started, the others are still joined
  for (int thread = 0; thread < num_threads; ++thread) {
    threads.emplace_back([&, thread] {
      for (size_t i; (i = next++) < end;) {
        try {
          body(i, thread);
        } catch (...) {
          errors[i - begin] = std::current_exception();
        }
      }
    });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

}  // namespace caffe2
