#include "operators/dataset/rebatching_queue.h"

#include <cstring>
#include <iterator>
#include <utility>

namespace caffe2 {

RebatchingQueue::RebatchingQueue(int64_t capacity, int64_t num_blobs)
    : capacity_(capacity), num_blobs_(num_blobs) {
  CAFFE_ENFORCE(capacity > 0, "the capacity of a queue must be positive, found ", capacity);
  CAFFE_ENFORCE(num_blobs > 0, "num_blobs of a queue must be positive, found ", num_blobs);
}

bool RebatchingQueue::Push(Element element, const WhileWaiting& while_waiting) {
  std::unique_lock<std::mutex> lock(mutex_);
  AwaitChange(&changed_, &lock, 0, while_waiting,
              [this] { return closed_ || static_cast<int64_t>(elements_.size()) < capacity_; });
  if (closed_) return false;
  elements_.push_back(std::move(element));
  changed_.notify_all();
  return true;
}

bool RebatchingQueue::Enqueue(const std::vector<const Tensor*>& tensors, bool batch,
                              const WhileWaiting& while_waiting) {
  CAFFE_ENFORCE(static_cast<int64_t>(tensors.size()) == num_blobs_,
                "an element of the queue must have ", num_blobs_, " tensors, found ",
                tensors.size());
  Element copies(tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) copies[i].CopyFrom(*tensors[i]);
  if (!batch) return Push(std::move(copies), while_waiting);

  for (const Tensor& tensor : copies) {
    CAFFE_ENFORCE(tensor.dim() > 0 && tensor.size(0) == copies[0].size(0),
                  "the tensors of a batch must have equally many rows, but ",
                  copies[0].DebugString(), " and ", tensor.DebugString(), " do not");
  }
  for (int64_t row = 0; row < copies[0].size(0); ++row) {
    Element element;
    for (const Tensor& tensor : copies) {
      element.push_back(tensor.View(row * tensor.size_from_dim(1),
                                    {tensor.sizes().begin() + 1, tensor.sizes().end()}));
    }
    if (!Push(std::move(element), while_waiting)) return false;
  }
  return true;
}

void RebatchingQueue::Stack(const std::vector<Element>& elements, size_t i, Tensor* output) {
  const Tensor& first = elements[0][i];
  std::vector<int64_t> dims = first.sizes();
  dims.insert(dims.begin(), static_cast<int64_t>(elements.size()));
  output->Resize(dims);
  auto* destination = static_cast<char*>(output->raw_mutable_data(first.dtype()));
  for (const Element& element : elements) {
    const Tensor& tensor = element[i];
    CAFFE_ENFORCE(tensor.sizes() == first.sizes() && tensor.dtype() == first.dtype(),
                  "elements of ", first.DebugString(), " and ", tensor.DebugString(),
                  " cannot be stacked");
    if (tensor.dtype().copy() != nullptr) {
      tensor.dtype().copy()(tensor.raw_data(), destination, tensor.numel());
    } else if (tensor.nbytes() != 0) {
      std::memcpy(destination, tensor.raw_data(), tensor.nbytes());
    }
    destination += tensor.nbytes();
  }
}

bool RebatchingQueue::Dequeue(int64_t n, const std::vector<Tensor*>& outputs,
                              const WhileWaiting& while_waiting) {
  CAFFE_ENFORCE(n > 0, "argument num_elements must be positive, found ", n);
  CAFFE_ENFORCE(static_cast<int64_t>(outputs.size()) == num_blobs_,
                "there must be one output for each of the ", num_blobs_,
                " tensors of an element, found ", outputs.size());
  std::vector<Element> taken;
  {
    std::unique_lock<std::mutex> lock(mutex_);
    while (static_cast<int64_t>(taken.size()) < n) {
      try {
        AwaitChange(&changed_, &lock, 0, while_waiting,
                    [this] { return closed_ || !elements_.empty(); });
      } catch (...) {  // the wait was stopped: the elements stay in the queue
        elements_.insert(elements_.begin(), std::make_move_iterator(taken.begin()),
                         std::make_move_iterator(taken.end()));
        changed_.notify_all();
        throw;
      }
      if (elements_.empty()) break;
      taken.push_back(std::move(elements_.front()));
      elements_.pop_front();
      changed_.notify_all();
    }
  }
  if (taken.empty()) return false;
  for (size_t i = 0; i < outputs.size(); ++i) Stack(taken, i, outputs[i]);
  return true;
}

void RebatchingQueue::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  closed_ = true;
  changed_.notify_all();
}

}  // namespace caffe2
