// The context of operators that run on an NVIDIA GPU.
#pragma once

#include <map>

#include "caffe2/core/operator.h"
#include "caffe2/cuda/runtime.h"

namespace caffe2 {

// Launches work on one device. The work runs in stream order; its results are ready after
// FinishDeviceComputation(). All contexts of a device share its compute stream (stream 0). So the
// operators of one net, and of nets in several threads, run one after another without events.
class CUDAContext final : public BaseContext {
 public:
  static constexpr DeviceType kDeviceType = CUDA;

  // Throws EnforceNotMet if the machine does not have the device.
  explicit CUDAContext(const DeviceOption& option);

  // Throws EnforceNotMet unless stream_id is 0.
  void SwitchToDevice(int stream_id = 0) override;
  // Also throws EnforceNotMet for errors that kernels have reported, such as a label out of range.
  void FinishDeviceComputation() override;

  cuda::Stream stream() const { return stream_; }
  int device_id() const { return device().id; }
  cuda::KernelReport* report() const { return cuda::ReportOf(device_id()); }

  // Copies n elements of a trivially copyable type on this device or between it and the host.
  template <typename T>
  void Copy(size_t n, const T* source, T* destination) {
    CopyBytes(n * sizeof(T), source, destination);
  }
  // Throws EnforceNotMet for types that are not trivially copyable.
  void CopyItems(TypeMeta meta, size_t n, const void* source, void* destination);
  void CopyBytes(size_t nbytes, const void* source, void* destination);
  // Copies `tensor`, which is operand `i` and lies on the host, to this device. The copy is valid
  // until the next Upload of the same operand.
  const Tensor& Upload(int i, const Tensor& tensor) const;

 private:
  cuda::Stream stream_ = nullptr;
  mutable std::map<int, Tensor> uploads_;  // by operand
};

// Copies between two devices, or between a device and the host. The copy starts after the work that
// the compute streams of both hold now; later work of both streams starts after the copy. Host
// memory may be pageable: as a source it may be reused when the call returns; as a destination it
// holds the copy when the device's compute stream is done.
void CopyInOrder(size_t nbytes, const void* source, const Device& source_device, void* destination,
                 const Device& destination_device);

// A CUDA operator reads device memory: Input(i) throws EnforceNotMet, naming the blob, for a tensor
// on the host. The exception is a tensor that may be a shape or a count (up to 64 integers or
// bools). Shape and Size leave such tensors on the host, and Caffe2's nets go on computing with
// them on the device, so Input(i) copies them there; this is logged once for each type of operator.
// An operator that accepts an input in host or device memory reads it with Input<Tensor>(i).
template <>
const Tensor& Operator<CUDAContext>::Input(int i) const;

// A control scalar: one float that controls an operator, such as a learning rate or the gradient of
// a loss. ReadScalar of a tensor on the device sets `address`. Of a tensor on the host it sets
// `value`, which it reads at once. While a CUDA graph is recorded, it sets `address` instead, to a
// device copy that is refreshed before each launch of the graph.
struct CudaScalar {
  const float* address = nullptr;
  float value = 0;
};
// Throws EnforceNotMet unless the tensor holds one float. `what` names the tensor in the error.
CudaScalar ReadScalar(const Tensor& tensor, const char* what);

}  // namespace caffe2
