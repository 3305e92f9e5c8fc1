// Numbers that the host computes anew before each launch of a CUDA graph (graph.h): a learning
// rate, an iteration, a position in a stream of random numbers. A graph keeps the arguments of its
// kernels for ever, so its kernels read these numbers from device memory, which is written before
// each launch.
#pragma once

#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// The numbers of one graph, at most 8192, of at most 8 bytes each. Used by one thread at a time.
class HostValues {
 public:
  // Throws OutOfMemoryError if the device does not have enough memory.
  explicit HostValues(int device);
  ~HostValues();
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  // Returns the device address of the result of value(), a T. value() is called by each Send(), not
  // by Add. The address is valid as long as this object. Throws EnforceNotMet if there are too many
  // numbers.
  template <typename T, typename F>
  const T* Add(const F& value) {
    static_assert(sizeof(T) <= kSlot);
    return static_cast<const T*>(AddWriter([value](void* place) {
      const T number = value();
      std::memcpy(place, &number, sizeof(T));
    }));
  }
  // The same for a value() that reads `source`, a tensor in host memory.
  template <typename T, typename F>
  const T* AddOf(const Tensor& source, const F& value) {
    sources_.insert(&source);
    return Add<T>(value);
  }
  // True if AddOf was called for the tensor.
  bool IsSource(const Tensor& tensor) const { return sources_.count(&tensor) != 0; }

  // Computes all numbers and copies them to the device, on its compute stream.
  void Send();

 private:
  static constexpr size_t kSlot = 8, kMaxValues = 8192;  // bytes of a number, numbers

  const void* AddWriter(std::function<void(void*)> writer);

  const int device_;
  std::vector<std::function<void(void*)>> writers_;
  std::set<const Tensor*> sources_;
  char* on_device_ = nullptr;
  char* on_host_ = nullptr;  // page-locked
  Event sent_;               // after it on_host_ may be written again
};

// The HostValues of the graph that the calling thread records. Null if it records none: numbers are
// then passed to kernels as arguments.
HostValues* RecordedHostValues();

// Makes RecordedHostValues() return `values` on the calling thread while this object lives. Scopes
// do not nest: after the end of one, RecordedHostValues() returns null.
class HostValuesScope {
 public:
  explicit HostValuesScope(HostValues* values);
  ~HostValuesScope();
  HostValuesScope(const HostValuesScope&) = delete;
  HostValuesScope& operator=(const HostValuesScope&) = delete;
};

}  // namespace caffe2::cuda
