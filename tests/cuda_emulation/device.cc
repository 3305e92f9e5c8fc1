// Fibers jump between stacks. The checked longjmp would take that for an error.
#undef _FORTIFY_SOURCE
#include "tests/cuda_emulation/device.h"

#include <setjmp.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <vector>

#include "caffe2/core/logging.h"
#include "tests/cuda_emulation/sanitizer.h"

namespace caffe2::cuda::emulation {
namespace {

bool IsBackward() {
  static const bool backward = std::getenv("CUDA_EMULATION_BACKWARD") != nullptr;
  return backward;
}

constexpr int kWarp = 32;

// A stack that runs threads of a block, one after another, until one of them waits; another fiber
// then runs the threads that have not begun. Only the first switch to a fiber uses ucontext.h,
// which makes a system call for the signal mask each time.
struct Fiber {
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  ucontext_t start;
  jmp_buf state;
  StackEnd end{stack.get(), kStackBytes};
  bool started = false, idle = true;
  dim3 index;  // of the thread that it runs
  int thread = 0, warp = 0, lane = 0;
};

// Counts arrivals at a barrier, and how often it has opened.
struct Gate {
  int arrived = 0, members = 0;
  uint64_t generation = 0;

  void Arrive() {
    ++arrived;
    OpenIfComplete();
  }
  void Leave() {
    --members;
    OpenIfComplete();
  }
  void OpenIfComplete() {
    if (members == 0 || arrived < members) return;
    arrived = 0;
    ++generation;
  }
};

struct Warp {
  Gate gate;
  uint64_t slots[2][kWarp];
};

class Block {
 public:
  void Run(const char* name, dim3 size, const std::function<void()>& thread) {
    thread_ = &thread;
    size_ = size;
    Prepare();
    threads_.StartBlock(count_);
    while (begun_ < count_) {
      Fiber* fiber = IdleFiber();
      Resume(fiber);
      if (!fiber->idle) waiting_.push_back(fiber);
    }
    while (!waiting_.empty()) {
      const uint64_t before = progress_;
      for (Fiber* fiber : waiting_) Resume(fiber);
      std::erase_if(waiting_, [](const Fiber* fiber) { return fiber->idle; });
      // Every thread had its turn: at least one must have advanced.
      if (progress_ == before) Abandon(name);
    }
    idle_.insert(idle_.end(), used_.begin(), used_.end());
    used_.clear();
    threads_.EndBlock();
  }

  void Barrier() {
    const uint64_t barrier = block_gate_.generation;
    threads_.Arrive(barrier);
    Await(&block_gate_);
    threads_.Pass(barrier);
  }

  uint64_t Exchange(uint64_t value, int lane_mask) {
    Fiber* self = running_;
    Warp& warp = warps_[self->warp];
    // Two sets of slots: a fast thread may be one exchange ahead of a slow one, never two.
    auto& slots = warp.slots[warp.gate.generation % 2];
    slots[self->lane] = value;
    Await(&warp.gate);
    return slots[self->lane ^ lane_mask];
  }

 private:
  void Prepare() {
    count_ = static_cast<int>(size_.x * size_.y * size_.z);
    begun_ = 0;
    warps_.assign((count_ + kWarp - 1) / kWarp, {});
    for (int i = 0; i < count_; ++i) ++warps_[i / kWarp].gate.members;
    block_gate_ = {};
    block_gate_.members = count_;
  }

  Fiber* IdleFiber() {
    if (idle_.empty()) {
      Prepare(idle_.emplace_back(fibers_.emplace_back(std::make_unique<Fiber>()).get()));
    }
    Fiber* fiber = idle_.back();
    idle_.pop_back();
    return fiber;
  }
  [[gnu::noinline]] static void Prepare(Fiber* fiber) {
    getcontext(&fiber->start);
    fiber->start.uc_stack.ss_sp = fiber->stack.get();
    fiber->start.uc_stack.ss_size = kStackBytes;
    makecontext(&fiber->start, &Block::Enter, 0);
  }

  // Runs the fiber until its thread waits or all threads have begun.
  void Resume(Fiber* fiber) {
    running_ = fiber;
    Current().thread_index = fiber->index;
    BeforeJump(&scheduler_end_, fiber->end);
    Jump(fiber);
    AfterJump(scheduler_end_, &fiber->end);
  }
  void Yield(Fiber* self) {
    BeforeJump(&self->end, scheduler_end_);
    JumpBack(self);
    AfterJump(self->end, &scheduler_end_);
  }
#ifdef CAFFE2_EMULATION_TSAN
  // The thread sanitizer does not support long jumps between stacks.
  void Jump(Fiber* fiber) { swapcontext(&scheduler_context_, &fiber->start); }
  void JumpBack(Fiber* self) { swapcontext(&self->start, &scheduler_context_); }
  ucontext_t scheduler_context_;
#else
  // A function that returns twice must not be inlined.
  [[gnu::noinline]] void Jump(Fiber* fiber) {
    if (_setjmp(scheduler_) != 0) return;
    if (fiber->started) _longjmp(fiber->state, 1);
    fiber->started = true;
    setcontext(&fiber->start);
  }
  [[gnu::noinline]] void JumpBack(Fiber* self) {
    if (_setjmp(self->state) == 0) _longjmp(scheduler_, 1);
  }
#endif

  static void Enter();
  [[noreturn]] void RunThreads(Fiber* self) {
    for (;;) {
      do {
        RunThread(begun_++, self);
      } while (kShareStacks && begun_ < count_);
      self->idle = true;
      (kShareStacks ? idle_ : used_).push_back(self);
      Yield(self);
    }
  }
  void RunThread(int begun, Fiber* self) {
    const int i = IsBackward() ? count_ - 1 - begun : begun;
    self->idle = false;
    self->thread = i;
    self->index = dim3(i % size_.x, i / size_.x % size_.y, i / (size_.x * size_.y));
    self->warp = i / kWarp;
    self->lane = i % kWarp;
    Current().thread_index = self->index;
    threads_.Begin(i);
    (*thread_)();
    threads_.End();
    ++progress_;
    block_gate_.Leave();
    warps_[self->warp].gate.Leave();
  }

  void Await(Gate* gate) {
    Fiber* self = running_;
    const uint64_t generation = gate->generation;
    ++progress_;
    gate->Arrive();
    if (gate->generation != generation) return;
    threads_.Leave();
    while (gate->generation == generation) Yield(self);
    threads_.Resume(self->thread);
  }

  [[noreturn]] void Abandon(const char* name) {
    const size_t waiting = waiting_.size();
    waiting_.clear();
    idle_.clear();
    used_.clear();
    fibers_.clear();
    CAFFE_THROW("kernel ", name, ": ", waiting,
                " threads wait at a barrier that the others do not reach");
  }

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_, waiting_;
  std::vector<Fiber*> used_;  // no longer usable in this block
  std::vector<Warp> warps_;
  Gate block_gate_;
  jmp_buf scheduler_;
  StackEnd scheduler_end_;
  BlockThreads threads_;
  Fiber* running_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  dim3 size_;
  int count_ = 0, begun_ = 0;
  uint64_t progress_ = 0;
};

Block& CurrentBlock() {
  static thread_local Block block;
  return block;
}

void Block::Enter() {
  Block& block = CurrentBlock();
  AfterJump(block.running_->end, &block.scheduler_end_);
  block.RunThreads(block.running_);
}

}  // namespace

constinit thread_local Position current_position;

void CheckGrid(const char* name, dim3 grid, dim3 block) {
  CAFFE_ENFORCE(grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.y < 65536 && grid.z < 65536,
                "kernel ", name, " has an invalid grid");
  const unsigned threads = block.x * block.y * block.z;
  CAFFE_ENFORCE(threads > 0 && threads <= 1024, "kernel ", name, " has ", threads,
                " threads a block");
}

void RunGrid(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread) {
  Position& position = Current();
  position.grid_size = grid;
  position.block_size = block;
  const int64_t blocks = int64_t{grid.x} * grid.y * grid.z;
  for (int64_t n = 0; n < blocks; ++n) {
    const int64_t i = IsBackward() ? blocks - 1 - n : n;
    position.block_index =
        dim3(static_cast<unsigned>(i % grid.x), static_cast<unsigned>(i / grid.x % grid.y),
             static_cast<unsigned>(i / (int64_t{grid.x} * grid.y)));
    CurrentBlock().Run(name, block, thread);
  }
}

void BlockBarrier() { CurrentBlock().Barrier(); }
uint64_t Exchange(uint64_t value, int lane_mask) {
  return CurrentBlock().Exchange(value, lane_mask);
}

}  // namespace caffe2::cuda::emulation
