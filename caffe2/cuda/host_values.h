// Numbers that the host computes anew for every run of recorded work (graph.h): a learning rate, an
// iteration, a position in a stream of random numbers. A recording keeps the arguments of its
// kernels for ever, so kernels read these from device memory, which is written before each run.
#pragma once

#include <cstring>
#include <functional>
#include <set>
#include <vector>

#include "caffe2/core/tensor.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2::cuda {

// The numbers of one recording, of at most 8 bytes each. Used by one thread at a time.
class HostValues {
 public:
  explicit HostValues(int device);
  ~HostValues();
  HostValues(const HostValues&) = delete;
  HostValues& operator=(const HostValues&) = delete;

  // Where on the device the result of value(), a T, will lie while the recorded work runs. value()
  // is called once for each run, before it starts, and not by Add. Throws Error if there are too
  // many.
  template <typename T, typename F>
  const T* Add(const F& value) {
    static_assert(sizeof(T) <= kSlot);
    return static_cast<const T*>(AddWriter([value](void* place) {
      const T number = value();
      std::memcpy(place, &number, sizeof(T));
    }));
  }
  // The same for what an operator reads of a tensor in host memory.
  template <typename T, typename F>
  const T* AddOf(const Tensor& source, const F& value) {
    sources_.insert(&source);
    return Add<T>(value);
  }
  // True if something of the tensor was added.
  bool IsSource(const Tensor& tensor) const { return sources_.count(&tensor) != 0; }

  // Computes all values and copies them to the device, on its compute stream.
  void Send();

 private:
  static constexpr size_t kSlot = 8, kMost = 8192;  // bytes of a number, numbers

  const void* AddWriter(std::function<void(void*)> writer);

  const int device_;
  std::vector<std::function<void(void*)>> writers_;
  std::set<const Tensor*> sources_;
  char* on_device_ = nullptr;
  char* on_host_ = nullptr;  // page-locked
  Event sent_;               // on_host_ may be written again
};

// What the calling thread records values to; null while it records nothing, and values are then
// passed to kernels as arguments.
HostValues* RecordedHostValues();

// Makes `values` that of the calling thread as long as it lives.
class HostValuesScope {
 public:
  explicit HostValuesScope(HostValues* values);
  ~HostValuesScope();
  HostValuesScope(const HostValuesScope&) = delete;
  HostValuesScope& operator=(const HostValuesScope&) = delete;
};

}  // namespace caffe2::cuda
