// The context of an operator: a device, its stream and its random numbers.
#pragma once

#include <cstring>

#include "caffe2/core/allocator.h"
#include "caffe2/core/device.h"
#include "caffe2/core/random.h"
#include "caffe2/core/tensor.h"

namespace caffe2 {

// The device-neutral part, for code that is not templated on the context. Each operator owns a
// context. One thread uses a context at a time.
class BaseContext {
 public:
  explicit BaseContext(const DeviceOption& option);
  virtual ~BaseContext();
  BaseContext(const BaseContext&) = delete;
  BaseContext& operator=(const BaseContext&) = delete;

  const Device& device() const { return device_; }
  // Random numbers on the host, seeded by DeviceOption.random_seed if it is set, else from the
  // system's entropy.
  RandomGenerator& random() { return random_; }

  // Makes this context's device and the given stream current for the calling thread.
  virtual void SwitchToDevice(int stream_id) = 0;
  // Waits until all work on the current stream is done. Throws if the work failed.
  virtual void FinishDeviceComputation() = 0;

 private:
  Device device_;
  RandomGenerator random_;
};

// The host. Work is done when the call returns.
class CPUContext final : public BaseContext {
 public:
  static constexpr DeviceType kDeviceType = CPU;

  CPUContext();
  explicit CPUContext(const DeviceOption& option) : BaseContext(option) {}
  ~CPUContext() override;

  void SwitchToDevice(int /*stream_id*/ = 0) override {}
  void FinishDeviceComputation() override {}

  // Copies n elements of a trivially copyable type.
  template <typename T>
  void Copy(size_t n, const T* source, T* destination) {
    if (n != 0 && source != destination) std::memcpy(destination, source, n * sizeof(T));
  }
  // Copies n elements of any copyable type.
  void CopyItems(TypeMeta meta, size_t n, const void* source, void* destination) {
    if (meta.copy() != nullptr) {
      meta.copy()(source, destination, n);
    } else if (n != 0 && source != destination) {
      std::memcpy(destination, source, n * meta.itemsize());
    }
  }
};

}  // namespace caffe2
