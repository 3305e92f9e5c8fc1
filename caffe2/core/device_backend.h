// Backends: a library for each device type, loaded at run time. Also what executors need to know of
// devices that go on working after an operator has returned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/operator.h"

namespace caffe2 {

// A device does not have enough memory. The text says how much was requested and how much is free.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

// What the library of a device type tells the core. When the library is loaded it also registers an
// allocator, copies and operators.
struct DeviceBackend {
  int (*count)() = nullptr;                     // number of usable devices
  std::string (*problem)() = nullptr;           // why there is none, in one line
  size_t (*peak_memory)(int device) = nullptr;  // as PeakMemory
};

// Called during static initialisation of the library.
void RegisterDeviceBackend(DeviceType type, const DeviceBackend& backend);

// Loads the library of the device type, once in a process. The CPU needs none. The path is the
// environment variable CAFFE2_CUDA_LIBRARY if it is set; otherwise the library lies beside
// libcaffe2. False if there is none or it cannot be loaded; DeviceProblem says why. Thread-safe.
bool LoadDeviceBackend(DeviceType type);

// Number of usable devices of this type; 1 for the CPU. Thread-safe.
int NumDevices(DeviceType type);
// Why NumDevices is 0, in one line; empty if it is not.
std::string DeviceProblem(DeviceType type);
// Throws EnforceNotMet, in one line, unless the machine has the device.
void CheckDevice(const Device& device);

// Peak memory of this process, in bytes: of the device's pool, or, for the CPU, resident memory.
// Throws EnforceNotMet if the machine does not have the device.
size_t PeakMemory(const Device& device);

// Returns the tensor itself if it lies in host memory. Otherwise copies it to *copy, waits for the
// device, and returns *copy.
inline const Tensor& OnHost(const Tensor& tensor, Tensor* copy) {
  if (tensor.GetDeviceType() == CPU) return tensor;
  copy->CopyFrom(tensor);
  return *copy;
}

// Starts the operator; returns what its RunAsync returns. Once a device backend is loaded, throws
// EnforceNotMet, naming the blob, if an input of a CPU operator does not lie in host memory. Adds
// the name of the output that could not be allocated to an OutOfMemoryError.
bool StartOperator(OperatorBase* op);
// Waits for all work that the operators have started on their devices; operators of one device
// share its streams. Throws if the work failed.
void FinishOperators(const std::vector<std::unique_ptr<OperatorBase>>& operators);

}  // namespace caffe2
