// Tells the sanitizers about emulated kernels. Does nothing without a sanitizer.
#pragma once

#include <cstddef>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
// Defined on the command line: the callers of these functions are not instrumented.
#ifdef CAFFE2_EMULATION_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace caffe2::cuda::emulation {

// A stack from or to which the program jumps, for the address sanitizer.
struct StackEnd {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake_stack = nullptr;
};
#ifdef __SANITIZE_ADDRESS__
// Kernels have larger frames with the address sanitizer.
constexpr size_t kStackBytes = 512 << 10;

inline void BeforeJump(StackEnd* from, const StackEnd& to) {
  __sanitizer_start_switch_fiber(&from->fake_stack, to.bottom, to.size);
}
// Called first on the stack `to`; stores in *left where the stack lies that was left.
inline void AfterJump(const StackEnd& to, StackEnd* left) {
  __sanitizer_finish_switch_fiber(to.fake_stack, &left->bottom, &left->size);
}
#else
constexpr size_t kStackBytes = 64 << 10;

inline void BeforeJump(StackEnd* /*from*/, const StackEnd& /*to*/) {}
inline void AfterJump(const StackEnd& /*to*/, StackEnd* /*left*/) {}
#endif

// True if threads of a block may use the same stack one after another. The thread sanitizer would
// take it for shared memory.
#ifdef CAFFE2_EMULATION_TSAN
constexpr bool kShareStacks = false;
#else
constexpr bool kShareStacks = true;
#endif

// Shows the threads of a block to the thread sanitizer as separate threads, which only the block's
// barriers order, not shuffles. So it reports two threads that touch the same memory between two
// barriers if one of them writes. Blocks run one after another for it, because their shared memory
// lies at the same address.
class BlockThreads {
 public:
#ifdef CAFFE2_EMULATION_TSAN
  BlockThreads() = default;
  BlockThreads(const BlockThreads&) = delete;
  BlockThreads& operator=(const BlockThreads&) = delete;
  ~BlockThreads() {
    for (void* thread : threads_) __tsan_destroy_fiber(thread);
  }

  void StartBlock(int count) {
    while (static_cast<int>(threads_.size()) < count) threads_.push_back(__tsan_create_fiber(0));
    host_ = __tsan_get_current_fiber();
    __tsan_release(&start_);
  }
  void EndBlock() { __tsan_acquire(&end_); }

  // The caller is thread `i` from here until Leave.
  void Begin(int i) {
    Resume(i);
    __tsan_acquire(&start_);
  }
  void Resume(int i) { __tsan_switch_to_fiber(threads_[i], __tsan_switch_to_fiber_no_sync); }
  void Leave() { __tsan_switch_to_fiber(host_, __tsan_switch_to_fiber_no_sync); }
  void End() {
    __tsan_release(&end_);
    Leave();
  }

  // A fast thread may be one barrier ahead of a slow one, never two.
  void Arrive(size_t barrier) { __tsan_release(&barriers_[barrier % 2]); }
  void Pass(size_t barrier) { __tsan_acquire(&barriers_[barrier % 2]); }

 private:
  std::vector<void*> threads_;
  void* host_ = nullptr;
  char start_ = 0, end_ = 0, barriers_[2] = {};
#else
  void StartBlock(int /*count*/) {}
  void EndBlock() {}
  void Begin(int /*i*/) {}
  void Resume(int /*i*/) {}
  void Leave() {}
  void End() {}
  void Arrive(size_t /*barrier*/) {}
  void Pass(size_t /*barrier*/) {}
#endif
};

}  // namespace caffe2::cuda::emulation
