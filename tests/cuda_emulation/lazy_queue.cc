#include "tests/cuda_emulation/lazy_queue.h"

#include <memory>
#include <thread>
#include <utility>

#include "caffe2/core/logging.h"

namespace caffe2::cuda::emulation {

void LazyQueue::Put(Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  work_.push_back(std::move(work));
}
void LazyQueue::PutAll(const std::vector<Work>& work) {
  std::lock_guard<std::mutex> lock(mutex_);
  work_.insert(work_.end(), work.begin(), work.end());
}

uint64_t LazyQueue::End() {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_ + work_.size();
}
bool LazyQueue::IsDone(uint64_t position) {
  std::lock_guard<std::mutex> lock(mutex_);
  return done_ >= position;
}

void LazyQueue::RunUntil(uint64_t position) {
  while (!IsDone(position)) {
    bool did = false;
    {
      std::lock_guard<std::recursive_mutex> turn(*turn_);
      if (busy_) throw Error("a stream waits for what it is to do itself");
      did = RunOne();
    }
    // Gives up the turn while it waits: the other work may need it.
    if (!did) std::this_thread::yield();
  }
}

void LazyQueue::Advance() {
  const std::unique_lock<std::recursive_mutex> turn(*turn_, std::try_to_lock);
  if (turn.owns_lock() && !busy_) RunOne();
}

bool LazyQueue::RunOne() {
  const Work* next = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (work_.empty()) return false;
    next = &work_.front();  // its address stays the same when work is added
  }
  busy_ = true;
  const auto end = [](LazyQueue* queue) { queue->busy_ = false; };
  const std::unique_ptr<LazyQueue, decltype(end)> ended(this, end);
  if (next->ready != nullptr && !next->ready()) return false;
  const auto pop = [](LazyQueue* queue) { queue->Pop(); };
  const std::unique_ptr<LazyQueue, decltype(pop)> popped(this, pop);
  if (next->run != nullptr) next->run();
  return true;
}

void LazyQueue::Pop() {
  Work over;  // frees what it holds here, outside of the lock
  std::lock_guard<std::mutex> lock(mutex_);
  over = std::move(work_.front());
  work_.pop_front();
  ++done_;
}

}  // namespace caffe2::cuda::emulation
