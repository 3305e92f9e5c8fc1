// Backends: one library for each device type, loaded at run time. Also the functions with which
// executors start operators and wait for them: a device may still be working after an operator has
// returned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/operator.h"

namespace caffe2 {

// A device does not have enough memory. The text says how many bytes were requested and, for most
// requests on GPUs, how many are free.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

// The functions that the library of a device type gives to the core. As it is loaded, the library
// also registers an allocator, copy functions and operators.
struct DeviceBackend {
  int (*count)() = nullptr;                     // number of usable devices
  std::string (*problem)() = nullptr;           // why there is none, in one line
  size_t (*peak_memory)(int device) = nullptr;  // as PeakMemory
};

// Called during static initialisation of the library.
void RegisterDeviceBackend(DeviceType type, const DeviceBackend& backend);

// Loads the library of the device type, once in a process. The CPU needs none. The environment
// variable CAFFE2_CUDA_LIBRARY may hold the path; by default the library is in the directory of
// libcaffe2. False if there is none or it cannot be loaded; DeviceProblem says why. Thread-safe.
bool LoadDeviceBackend(DeviceType type);

// Number of usable devices of this type; 1 for the CPU. Thread-safe.
int NumDevices(DeviceType type);
// One line that says why NumDevices is 0; empty if it is not 0.
std::string DeviceProblem(DeviceType type);
// Throws EnforceNotMet unless the machine has the device.
void CheckDevice(const Device& device);

// The most memory that this process has used, in bytes: on a GPU, of the device's memory pool; on
// the CPU, resident memory. Throws EnforceNotMet if the machine does not have the device.
size_t PeakMemory(const Device& device);

// Returns the tensor itself if it lies in host memory. Otherwise copies it to *copy, waits for the
// device, and returns *copy.
inline const Tensor& OnHost(const Tensor& tensor, Tensor* copy) {
  if (tensor.GetDeviceType() == CPU) return tensor;
  copy->CopyFrom(tensor);
  return *copy;
}

// Starts the operator and returns the result of its RunAsync. Once a device backend is loaded,
// throws EnforceNotMet, naming the blob, if an input of a CPU operator does not lie in host memory.
// If an output cannot be allocated, adds the name of its blob to the OutOfMemoryError.
bool StartOperator(OperatorBase* op);
// Waits for all work that the operators have started on their devices. It waits once for each
// device, because operators of one device share its streams. Throws if the work failed.
void FinishOperators(const std::vector<std::unique_ptr<OperatorBase>>& operators);

}  // namespace caffe2
