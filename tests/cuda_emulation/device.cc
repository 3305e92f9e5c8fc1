#include "tests/cuda_emulation/device.h"

#include <ucontext.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "caffe2/core/logging.h"

namespace caffe2::cuda::emulation {
namespace {

constexpr int kWarp = 32;
constexpr size_t kStackBytes = 64 << 10;

// One thread of the block that is running.
struct Fiber {
  ucontext_t context;
  std::unique_ptr<char[]> stack{new char[kStackBytes]};
  dim3 index;
  int warp = 0, lane = 0;
  bool done = false;
};

// How many have arrived at a barrier, and how often it has opened.
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
    const int count = static_cast<int>(size.x * size.y * size.z);
    Prepare(size, count);
    int remaining = count;
    while (remaining > 0) {
      const uint64_t before = progress_;
      for (int i = 0; i < count; ++i) {
        Fiber& fiber = *fibers_[i];
        if (fiber.done) continue;
        running_ = &fiber;
        Current().thread_index = fiber.index;
        swapcontext(&scheduler_, &fiber.context);
        if (!fiber.done) continue;
        --remaining;
        ++progress_;
        block_gate_.Leave();
        warps_[fiber.warp].gate.Leave();
      }
      // Every thread had its turn: somebody must have come further.
      CAFFE_ENFORCE(progress_ != before, "kernel ", name, ": ", remaining,
                    " threads wait at a barrier that the others do not reach");
    }
  }

  void Barrier() { Await(&block_gate_); }

  uint64_t Exchange(uint64_t value, int lane_mask) {
    Fiber* self = running_;
    Warp& warp = warps_[self->warp];
    // Two sets of slots: a quick thread may be one exchange ahead of a slow one, never two.
    auto& slots = warp.slots[warp.gate.generation % 2];
    slots[self->lane] = value;
    Await(&warp.gate);
    return slots[self->lane ^ lane_mask];
  }

 private:
  void Prepare(dim3 size, int count) {
    while (static_cast<int>(fibers_.size()) < count) fibers_.push_back(std::make_unique<Fiber>());
    warps_.assign((count + kWarp - 1) / kWarp, {});
    block_gate_ = {};
    block_gate_.members = count;
    for (int i = 0; i < count; ++i) {
      Fiber& fiber = *fibers_[i];
      fiber.index = dim3(i % size.x, i / size.x % size.y, i / (size.x * size.y));
      fiber.warp = i / kWarp;
      fiber.lane = i % kWarp;
      fiber.done = false;
      ++warps_[fiber.warp].gate.members;
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = kStackBytes;
      fiber.context.uc_link = &scheduler_;
      makecontext(&fiber.context, &Block::Enter, 0);
    }
  }

  void Await(Gate* gate) {
    Fiber* self = running_;
    const uint64_t generation = gate->generation;
    ++progress_;
    gate->Arrive();
    while (gate->generation == generation) swapcontext(&self->context, &scheduler_);
  }

  static void Enter();

  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Warp> warps_;
  Gate block_gate_;
  ucontext_t scheduler_;
  Fiber* running_ = nullptr;
  const std::function<void()>* thread_ = nullptr;
  uint64_t progress_ = 0;
};

Block& CurrentBlock() {
  static thread_local Block block;
  return block;
}

void Block::Enter() {
  Block& block = CurrentBlock();
  (*block.thread_)();
  block.running_->done = true;
}

}  // namespace

Position& Current() {
  static thread_local Position position;
  return position;
}

void RunGrid(const char* name, dim3 grid, dim3 block, const std::function<void()>& thread) {
  CAFFE_ENFORCE(grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.y < 65536 && grid.z < 65536,
                "kernel ", name, " has an invalid grid");
  const unsigned threads = block.x * block.y * block.z;
  CAFFE_ENFORCE(threads > 0 && threads <= 1024, "kernel ", name, " has ", threads,
                " threads a block");
  Position& position = Current();
  position.grid_size = grid;
  position.block_size = block;
  for (unsigned z = 0; z < grid.z; ++z) {
    for (unsigned y = 0; y < grid.y; ++y) {
      for (unsigned x = 0; x < grid.x; ++x) {
        position.block_index = dim3(x, y, z);
        CurrentBlock().Run(name, block, thread);
      }
    }
  }
}

void BlockBarrier() { CurrentBlock().Barrier(); }
uint64_t Exchange(uint64_t value, int lane_mask) {
  return CurrentBlock().Exchange(value, lane_mask);
}

}  // namespace caffe2::cuda::emulation
