// Devices as values.
#pragma once

#include <string>

#include "caffe2/proto/caffe2.pb.h"

namespace caffe2 {

// One device: CPU (id 0) or the id-th GPU.
struct Device {
  DeviceType type = CPU;
  int id = 0;

  std::string ToString() const;  // "cpu", "cuda:1"
  friend bool operator==(const Device& a, const Device& b) = default;
};

// "cpu", "cuda", or the number if the type has no name.
std::string DeviceTypeName(int type);

// Throws EnforceNotMet for a type that is not a DeviceType.
Device ToDevice(const DeviceOption& option);
DeviceOption ToDeviceOption(const Device& device);
// True if the type and, except for the CPU, the id are the same. Other fields are ignored.
bool IsSameDevice(const DeviceOption& a, const DeviceOption& b);

}  // namespace caffe2
