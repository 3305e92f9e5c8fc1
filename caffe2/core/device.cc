#include "caffe2/core/device.h"

#include <algorithm>

#include "caffe2/core/logging.h"

namespace caffe2 {

std::string DeviceTypeName(int type) {
  if (!DeviceType_IsValid(type)) return std::to_string(type);
  std::string name = DeviceType_Name(static_cast<DeviceType>(type));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return std::tolower(c); });
  return name;
}

std::string Device::ToString() const {
  return type == CPU ? "cpu" : DeviceTypeName(type) + ":" + std::to_string(id);
}

Device ToDevice(const DeviceOption& option) {
  CAFFE_ENFORCE(DeviceType_IsValid(option.device_type()), "unknown device type ",
                option.device_type());
  const auto type = static_cast<DeviceType>(option.device_type());
  return {type, type == CPU ? 0 : option.device_id()};
}

DeviceOption ToDeviceOption(const Device& device) {
  DeviceOption option;
  option.set_device_type(device.type);
  if (device.type != CPU) option.set_device_id(device.id);
  return option;
}

bool IsSameDevice(const DeviceOption& a, const DeviceOption& b) {
  return a.device_type() == b.device_type() &&
         (a.device_type() == CPU || a.device_id() == b.device_id());
}

}  // namespace caffe2
