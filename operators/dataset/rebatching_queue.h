// A queue of elements that are written and read in batches of different sizes.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <vector>

#include "caffe2/core/tensor.h"
#include "operators/dataset/blobs_queue.h"

namespace caffe2 {

// A bounded first-in-first-out queue of elements of num_blobs() tensors each. Thread-safe. Tensors
// are in host memory.
class RebatchingQueue {
 public:
  static constexpr const char* kCreator = "CreateRebatchingQueue";  // the operator

  // `capacity` is the number of elements that fit; both numbers must be positive.
  RebatchingQueue(int64_t capacity, int64_t num_blobs);

  int64_t num_blobs() const { return num_blobs_; }

  // Adds a copy of the tensors as one element. With `batch`, adds each of their rows as an element;
  // then their first dimensions must be equal. Waits for room for each element. Returns false if
  // the queue is closed or becomes closed; elements added before stay.
  bool Enqueue(const std::vector<const Tensor*>& tensors, bool batch,
               const WhileWaiting& while_waiting = {});
  // Waits for n > 0 elements and stacks them: output i has shape [n, dimensions of tensor i]. Takes
  // fewer than n if the queue is closed; returns false, with the outputs unchanged, if it is also
  // empty. Throws EnforceNotMet for elements of different shapes or types.
  bool Dequeue(int64_t n, const std::vector<Tensor*>& outputs,
               const WhileWaiting& while_waiting = {});
  // Ends writing and wakes all waiting threads. Elements in the queue can still be read.
  void Close();

 private:
  using Element = std::vector<Tensor>;
  bool Push(Element element, const WhileWaiting& while_waiting);
  static void Stack(const std::vector<Element>& elements, size_t i, Tensor* output);

  const int64_t capacity_, num_blobs_;
  std::mutex mutex_;  // protects all members below
  std::condition_variable changed_;
  bool closed_ = false;
  std::deque<Element> elements_;
};

}  // namespace caffe2
