#include "caffe2/core/device_waits.h"

#include <array>

#include "caffe2/core/device_backend.h"
#include "caffe2/core/first_error.h"

namespace caffe2 {
namespace {

thread_local DeferredWaits* deferred_waits = nullptr;

using FinishDevice = void (*)(int);
FinishDevice& FinishOf(DeviceType type) {
  static std::array<FinishDevice, DeviceType_ARRAYSIZE> functions{};
  return functions.at(type);
}

}  // namespace

void RegisterFinishDevice(DeviceType type, void (*finish)(int device)) { FinishOf(type) = finish; }

void FinishNet(const NetBase& net) {
  if (deferred_waits == nullptr) {
    try {
      return FinishOperators(net.operators());
    } catch (Error& error) {
      error.AddContext("net " + net.Name());
      throw;
    }
  }
  for (const auto& op : net.operators()) {
    const Device device = ToDevice(op->device_option());
    if (device.type != CPU) deferred_waits->devices_.emplace(device.type, device.id);
  }
}

DeferredWaits::DeferredWaits() : around_(deferred_waits) { deferred_waits = this; }
DeferredWaits::~DeferredWaits() { deferred_waits = around_; }

void DeferredWaits::FinishOthers(const Device& own) {
  devices_.erase({own.type, own.id});
  FirstError errors;
  for (const auto& [type, id] : devices_)
    errors.Try([finish = FinishOf(type), id = id] { finish(id); });
  devices_.clear();
  errors.Rethrow();
}

}  // namespace caffe2
