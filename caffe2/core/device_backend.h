// Devices that a library of their own serves: finding and loading it, and what executors must know
// of devices on which work goes on after an operator has returned.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "caffe2/core/device.h"
#include "caffe2/core/operator.h"

namespace caffe2 {

// A device has not enough memory. The text says how much was asked and is free.
class OutOfMemoryError : public Error {
 public:
  using Error::Error;
};

// What the library of a device type tells the core. It also registers an allocator, copies and
// operators when it is loaded.
struct DeviceBackend {
  int (*count)() = nullptr;                     // devices there are; 0 if they cannot be used
  std::string (*problem)() = nullptr;           // why there is none, in one line
  size_t (*peak_memory)(int device) = nullptr;  // as PeakMemory
};

// Called during static initialisation of the library.
void RegisterDeviceBackend(DeviceType type, const DeviceBackend& backend);

// Loads the library of the device type, once in a process; the CPU needs none. It is found beside
// libcaffe2, or where CAFFE2_CUDA_LIBRARY says. False if there is none or it cannot be loaded
// (DeviceProblem says why). Thread-safe.
bool LoadDeviceBackend(DeviceType type);

// Number of devices of this type that can be used; 1 for the CPU. Thread-safe.
int NumDevices(DeviceType type);
// Why NumDevices is 0, in one line; empty if it is not.
std::string DeviceProblem(DeviceType type);
// Throws EnforceNotMet, in one line, unless the device is there.
void CheckDevice(const Device& device);

// The most bytes of the device's memory that this process had in use at a time; of the host those
// resident. Throws EnforceNotMet if there is no such device.
size_t PeakMemory(const Device& device);

// The tensor itself if it lies in host memory, else a copy of it there (which waits for the
// device).
inline const Tensor& OnHost(const Tensor& tensor, Tensor* copy) {
  if (tensor.GetDeviceType() == CPU) return tensor;
  copy->CopyFrom(tensor);
  return *copy;
}

// Starts the operator. Before that, where a device backend is loaded, an operator of the host must
// find its tensors in host memory (EnforceNotMet names the blob otherwise); an OutOfMemoryError
// gets the name of the output that found no room.
bool StartOperator(OperatorBase* op);
// Waits for everything that the operators, which share the streams of their devices, have started;
// throws what went wrong there.
void FinishOperators(const std::vector<std::unique_ptr<OperatorBase>>& operators);

}  // namespace caffe2
