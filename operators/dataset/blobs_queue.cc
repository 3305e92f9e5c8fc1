#include "operators/dataset/blobs_queue.h"

#include <algorithm>
#include <chrono>

namespace caffe2 {

bool AwaitChange(std::condition_variable* changed, std::unique_lock<std::mutex>* lock,
                 double timeout_seconds, const WhileWaiting& while_waiting,
                 const std::function<bool()>& ready) {
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;  // holds any timeout
  constexpr Seconds kLookUp{0.05};
  const Clock::time_point begin = Clock::now();
  while (!ready()) {
    Seconds wait = kLookUp;
    if (timeout_seconds > 0) {
      const Seconds left = Seconds(timeout_seconds) - (Clock::now() - begin);
      if (left <= Seconds::zero()) return false;
      wait = std::min(wait, left);
    }
    if (changed->wait_for(*lock, wait, ready)) break;
    if (!while_waiting) continue;
    lock->unlock();
    try {
      while_waiting();
    } catch (...) {
      lock->lock();
      throw;
    }
    lock->lock();
  }
  return true;
}

BlobsQueue::BlobsQueue(int64_t capacity, int64_t num_blobs) : num_blobs_(num_blobs) {
  CAFFE_ENFORCE(capacity > 0, "the capacity of a queue must be positive, found ", capacity);
  CAFFE_ENFORCE(num_blobs > 0, "num_blobs of a queue must be positive, found ", num_blobs);
  slots_.resize(capacity);
  for (auto& slot : slots_) slot.resize(num_blobs);
}

void BlobsQueue::CheckNumBlobs(const std::vector<Blob*>& blobs) const {
  CAFFE_ENFORCE(static_cast<int64_t>(blobs.size()) == num_blobs_,
                "a record of the queue must have ", num_blobs_, " blobs, found ", blobs.size());
}

void BlobsQueue::SwapWith(int64_t record, const std::vector<Blob*>& blobs) {
  auto& slot = slots_[record % static_cast<int64_t>(slots_.size())];
  for (size_t i = 0; i < blobs.size(); ++i) blobs[i]->swap(slot[i]);
}

bool BlobsQueue::Write(const std::vector<Blob*>& blobs, const WhileWaiting& while_waiting) {
  CheckNumBlobs(blobs);
  std::unique_lock<std::mutex> lock(mutex_);
  AwaitChange(&changed_, &lock, 0, while_waiting,
              [this] { return closed_ || written_ - read_ < static_cast<int64_t>(slots_.size()); });
  if (closed_) return false;
  SwapWith(written_++, blobs);
  changed_.notify_all();
  return true;
}

bool BlobsQueue::Read(const std::vector<Blob*>& blobs, double timeout_seconds,
                      const WhileWaiting& while_waiting) {
  CheckNumBlobs(blobs);
  std::unique_lock<std::mutex> lock(mutex_);
  AwaitChange(&changed_, &lock, timeout_seconds, while_waiting,
              [this] { return closed_ || written_ > read_; });
  if (written_ == read_) return false;
  SwapWith(read_++, blobs);
  changed_.notify_all();
  return true;
}

void BlobsQueue::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace caffe2
