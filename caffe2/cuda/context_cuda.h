// The context of operators that run on an NVIDIA GPU.
#pragma once

#include <map>

#include "caffe2/core/operator.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2 {

// Launches work on one device, in stream order; results are there after FinishDeviceComputation().
// All contexts of a device share its compute stream (stream 0), so that operators of one net, and
// of nets in several threads, follow each other without events.
class CUDAContext final : public BaseContext {
 public:
  static constexpr DeviceType kDeviceType = CUDA;

  // Throws EnforceNotMet, in one line, if the device is not there.
  explicit CUDAContext(const DeviceOption& option);

  void SwitchToDevice(int stream_id = 0) override;
  // Also throws what kernels have reported: labels out of range and the like.
  void FinishDeviceComputation() override;

  cuda::Stream stream() const { return stream_; }
  int device_id() const { return device().id; }
  cuda::KernelReport* report() const { return cuda::ReportOf(device_id()); }

  // Copies n elements of a trivially copyable type on this device or between it and the host.
  template <typename T>
  void Copy(size_t n, const T* source, T* destination) {
    CopyBytes(n * sizeof(T), source, destination);
  }
  // Throws for types that are not plain bytes.
  void CopyItems(TypeMeta meta, size_t n, const void* source, void* destination);
  void CopyBytes(size_t nbytes, const void* source, void* destination);
  // A copy of operand `i`, which lies on the host, on this device; valid until the next one.
  const Tensor& Upload(int i, const Tensor& tensor) const;

 private:
  cuda::Stream stream_ = nullptr;
  mutable std::map<int, Tensor> uploads_;  // of operands
};

// Copies between two devices, or a device and the host, in the order of the compute streams of
// both: what they do later comes behind it. Host memory may be pageable and is then free at once
// when it is the source; as destination it holds the copy when the device's compute stream is done.
void CopyInOrder(size_t nbytes, const void* source, const Device& source_device, void* destination,
                 const Device& destination_device);

// A CUDA operator reads device memory: Input(i) throws, naming the blob, for a tensor that lies on
// the host. Only shapes and counts, as Shape and Size leave them there (up to 64 integers or
// truth values), are copied to the device, since nets of Caffe2 go on computing with them there;
// which is logged once for each type of operator. Inputs that may lie anywhere are read by
// Input<Tensor>(i).
template <>
const Tensor& Operator<CUDAContext>::Input(int i) const;

// One float that steers an operator (a learning rate, the gradient of a loss): in host memory it is
// read now and passed by value, on the device its address is passed. While a CUDA graph is recorded
// that of a tensor in host memory is the address of a copy, which is made before each run.
struct CudaScalar {
  const float* address = nullptr;
  float value = 0;
};
// Throws unless the tensor holds one float.
CudaScalar ReadScalar(const Tensor& tensor, const char* what);

}  // namespace caffe2
