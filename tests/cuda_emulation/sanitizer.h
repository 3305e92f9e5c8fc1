// What the sanitizers have to be told about emulated kernels; without one nothing is done.
#pragma once

#include <cstddef>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
// Given on the command line: what calls these is itself not instrumented.
#ifdef CAFFE2_EMULATION_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace caffe2::cuda::emulation {

// One end of jumps between two stacks, of which the address sanitizer wants to know.
struct StackEnd {
  const void* bottom = nullptr;
  size_t size = 0;
  void* fake_stack = nullptr;
};
#ifdef __SANITIZE_ADDRESS__
// Kernels have larger frames then.
constexpr size_t kStackBytes = 512 << 10;

inline void BeforeJump(StackEnd* from, const StackEnd& to) {
  __sanitizer_start_switch_fiber(&from->fake_stack, to.bottom, to.size);
}
// Called first thing on `to`; finds out where the stack lies that was left.
inline void AfterJump(const StackEnd& to, StackEnd* left) {
  __sanitizer_finish_switch_fiber(to.fake_stack, &left->bottom, &left->size);
}
#else
constexpr size_t kStackBytes = 64 << 10;

inline void BeforeJump(StackEnd* /*from*/, const StackEnd& /*to*/) {}
inline void AfterJump(const StackEnd& /*to*/, StackEnd* /*left*/) {}
#endif

// Whether threads of a block may have a stack one after another; to the thread sanitizer that would
// be memory that they share.
#ifdef CAFFE2_EMULATION_TSAN
constexpr bool kShareStacks = false;
#else
constexpr bool kShareStacks = true;
#endif

// The threads of a block as the thread sanitizer sees them: each one a thread of its own, ordered
// against the others of the block by its barriers alone, not by shuffles; so that two threads that
// touch the same memory between two barriers, one of them writing, are reported. Blocks follow one
// another for it, as all have what stands for their shared memory at the same place.
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

  // From here on the caller is thread `i`, until Leave.
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

  // A quick thread may be one barrier ahead of a slow one, never two.
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
